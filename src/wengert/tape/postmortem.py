"""After an exception inside a traced function: the tape up to it, and the user's stack."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from wengert.errors import WengertError
from wengert.hooks.tracer import LastTrace
from wengert.tape.dump import line
from wengert.tape.ops import MISSING, Call
from wengert.tape.tape import Tape
from wengert.values.callables import signature
from wengert.values.frames import is_ours
from wengert.values.functional import raises
from wengert.values.sites import Site

_SHOWN = 12  # lines of the tape


class PostMortem(NamedTuple):
    """The report that `post_mortem` returns of an `error`: the `tape` up to the line that raised, and the `stack`.

    The tape has no result; that of a gradient shows the steps that have a derivative, with the values that a pullback
    would have read. The stack holds the lines of the user's frames, the innermost last. Printed, it shows all three.

    >>> try:
    ...     wg.grad(lambda x: [np.sin(x)][1])(1.0)
    ... except IndexError as error:
    ...     mortem = wg.post_mortem(error)
    >>> mortem.tape[3].fn, len(mortem.stack)
    (<ufunc 'sin'>, 2)
    """

    error: BaseException
    tape: Tape
    stack: tuple[Site, ...]

    def __str__(self) -> str:
        ops = list(self.tape)
        left_out = [f"  … ({len(ops) - _SHOWN} before)"] if len(ops) > _SHOWN else []
        recorded = [f"  {line(op)}" + (f"  # {op.site}" if op.site else "") for op in ops[-_SHOWN:]]
        said = traceback.format_exception_only(self.error)[0].strip()
        return "\n".join([said, *(f"  at {site}" for site in self.stack), "recorded until then:", *left_out, *recorded])


def post_mortem(error: BaseException | None = None) -> PostMortem:
    """Return the recording of the traced function that raised `error`: a `PostMortem`, with tape and stack.

    Without `error` it is of the last uncaught exception. The exception holds the recording and frees it.

    >>> try:
    ...     wg.grad(lambda x: [x * x][1])(1.0)
    ... except IndexError as error:
    ...     print(wg.post_mortem(error).tape)
    Tape(Context)
      inp %1 = <lambda>::function
      inp %2 = x::float
      %3 = mul(%2, %2)::float

    Errors: WengertError where nothing was traced.
    """
    error = getattr(sys, "last_value", None) if error is None else error
    for each in _chain(error):
        trace = vars(each).get("__wengert__")
        if isinstance(trace, LastTrace):
            return PostMortem(each, _tape(trace), _stack(each))
    raise WengertError(
        f"no trace is known of {error!r}\n"
        "  fix: give the exception that came out of trace, grad, vjp or a gradient function, not a copy of it"
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exceptions that led to one, itself first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _tape(trace: LastTrace) -> Tape:
    inputs = sum(entry is not None and entry[0].kind == "input" for entry in trace.entries)
    entries = trace.entries
    while entries and entries[-1] is not None and entries[-1][0].fn is raises:  # what was not caught decides nothing
        entries = entries[:-1]
    tape = Tape.from_entries(entries, MISSING, _names(trace.f, inputs), trace.f)
    for op in tape:
        if isinstance(op, Call) and op.val is None and not op.guard:
            op.val = MISSING  # was not kept
    return tape


def _names(f: Callable[..., Any] | None, count: int) -> list[str]:
    """The names of the function's parameters, where each of them is one input."""
    try:
        names = list(signature(f).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
    return names if len(names) == count else []


def _stack(error: BaseException) -> tuple[Site, ...]:
    frames = traceback.walk_tb(error.__traceback__)
    return tuple(
        Site(frame.f_code.co_filename, number, frame.f_code.co_qualname)
        for frame, number in frames
        if not is_ours(frame)
    )


__all__ = ["PostMortem", "post_mortem"]
