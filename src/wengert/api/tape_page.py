"""`show`: a tape as one HTML page, beside the user's source; tapes and gradients in notebooks."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from wengert.api.gradient import vjp_of_call
from wengert.errors import ArgumentError, WengertError
from wengert.tape.ops import Call, Op, Variable, substituted
from wengert.tape.tape import Tape
from wengert.values.gradients import Gradients
from wengert.values.numeric_trees import map_numbers, numbers
from wengert.values.specs import is_inexact, number_type
from wengert.values.trees import leaves

if TYPE_CHECKING:
    from wengert.tools.page import InlinePage


@overload
def show(tape: Tape, path: str | os.PathLike[str]) -> Path: ...
@overload
def show(tape: Tape, path: None = None) -> Path | InlinePage: ...
def show(tape: Tape, path: str | os.PathLike[str] | None = None) -> Path | InlinePage:
    """Write a tape as one HTML page, beside your source; return the path of the file.

    The page needs no network and no server. It shows `tape`, op by op, with types, values and cotangents; which line
    each op comes from, and which ops come from a line; the graph, folded by function and by loop; and the memory alive
    while the tape is played. Of steps that repeat, as those of a `for` do, it shows one iteration until you open them.

    The values are the recorded ones. The cotangents are those of the tape's result, or of the function's result on the
    tape of a derivative; if that is not one number, or a value is not known, there are none.

    Parameters:
        tape (Tape): The tape.
        path (str | os.PathLike | None): The file to write. Without it, the page opens in the browser; in a notebook,
            the result is the page itself, which the notebook displays below the cell, and no file is written.
    Returns:
        Path: The path of the file.
    Raises:
        ArgumentError: `tape` is not a tape.
    See Also:
        gradtape, trace, profile, memory

    Examples:
        >>> import tempfile
        >>> tape = wg.gradtape(lambda x: np.sum(np.sin(x) * x), np.array([1.0, 2.0]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     wg.show(tape, f"{folder}/tape.html").name
        'tape.html'
    """
    from wengert.tools.page import InlinePage, write_page

    if not isinstance(tape, Tape):
        raise ArgumentError(
            f"show takes a tape, not a {type(tape).__name__}\n"
            "  fix: wg.show(wg.gradtape(f, x)); results of profile and memory have a method html(path)"
        )
    data = page_data(tape)
    if path is not None:
        return write_page(path, data)
    if _in_notebook():
        return InlinePage(data)
    import tempfile
    import webbrowser

    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="wengert-", delete=False) as file:
        page = write_page(file.name, data)
    webbrowser.open(page.as_uri())
    return page


def _in_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel, whose front end displays HTML."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return getattr(get_shell(), "kernel", None) is not None


def notebook_html(tape: Tape) -> str:
    """Return a tape's HTML for a notebook: a small page, and a table in case scripts may not run."""
    from wengert.tape.notebook import MAX_OPS, html_text
    from wengert.tools.page import InlinePage

    table, count = html_text(tape), len(tape)
    if not 0 < count <= MAX_OPS:
        return table
    frame = InlinePage(page_data(tape), height=440)._repr_html_()
    return f"<div>{frame}<details><summary>as a table</summary>{table}</details></div>"


def gradients_html(gradients: Gradients) -> str:
    """Return Gradients as an HTML table for a notebook: a row for each float and array, large arrays summed up."""
    from rich.table import Table

    from wengert.tape.dump import type_text
    from wengert.tools.html_tables import as_html
    from wengert.tools.words import in_words

    table = Table("argument", "type", "gradient")
    for k, gradient in enumerate(gradients):
        name = gradients.names[k] if k < len(gradients.names) else f"[{k}]"
        for path, leaf in leaves(gradient, name or "captured"):
            table.add_row(path, type_text(leaf), in_words(leaf))
    return as_html([table])


def page_data(tape: Tape, sources: Any = None) -> dict[str, Any]:
    """Return the data of the page of a tape; its lines are added to `sources`."""
    from wengert.tools.sources import Sources
    from wengert.tools.tapes import tape_data
    from wengert.tools.values import values_of

    values = values_of(tape)
    return tape_data(tape, values, cotangents_of_ops(tape, values), sources or Sources())


def cotangents_of_ops(tape: Tape, values: Mapping[Op, Any]) -> dict[Op, Any]:
    """Return the cotangents of a tape's ops if its result is one number; on the tape of a derivative, its value.

    Each op is pulled back at the `values` of the ops that it reads; if one is not known, or has no derivative, the
    result is empty.
    """
    from wengert.tools.tapes import primal_of

    primal = primal_of(tape)
    y: Any = primal and values.get(primal.op)  # type: ignore[arg-type]
    if primal is None or primal.op is None or not is_inexact(y) or np.size(y) != 1:
        return {}
    cotangents: dict[Op, Any] = {primal.op: np.ones_like(y) if isinstance(y, np.ndarray) else number_type(type(y))(1)}
    try:
        with np.errstate(all="ignore"):
            for op in reversed(list(tape)[: primal.id]):
                if op in cotangents and isinstance(op, Call) and not op.guard:
                    for read, cotangent in _cotangents_of_reads(op, cotangents[op], values):
                        cotangents[read] = (
                            cotangent
                            if read not in cotangents
                            else map_numbers(operator.add, cotangents[read], cotangent)
                        )
    except (WengertError, ArithmeticError, LookupError, TypeError, ValueError):
        return {}
    return cotangents


def _cotangents_of_reads(op: Call, y_bar: Any, values: Mapping[Op, Any]) -> Iterator[tuple[Op, Any]]:
    """Yield the ops that `op` reads, with their cotangents by its pullback."""
    fn, args, kwargs = substituted(op, lambda v: values[v.op])
    wanted = tuple([k for k, x in enumerate(args) if op.args[k] is not x and any(True for _ in numbers(x))])
    _, pullback, _ = vjp_of_call(fn, args, kwargs, wanted, False, quiet=True)
    for k, cotangent in zip(wanted, pullback(y_bar), strict=True):
        yield from _ops_with_cotangents(op.args[k], cotangent)


def _ops_with_cotangents(arg: Any, cotangent: Any) -> Iterator[tuple[Op, Any]]:
    """Yield the ops in an argument, with their parts of its cotangent."""
    if isinstance(arg, Variable):
        if arg.op is not None and cotangent is not None:
            yield arg.op, cotangent
    elif isinstance(arg, tuple | list) and isinstance(cotangent, tuple | list):
        for part, part_cotangent in zip(arg, cotangent, strict=True):
            yield from _ops_with_cotangents(part, part_cotangent)


__all__ = ["show"]
