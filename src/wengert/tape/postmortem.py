"""Post-mortem debugging: the tape up to an exception inside a traced function, and the user's stack."""

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

_LINES_SHOWN = 12  # lines of the tape


class PostMortem(NamedTuple):
    """The report that `post_mortem` returns of an `error`: the `tape` up to the line that raised, and the `stack`.

    The tape of a gradient shows the calls that have a derivative, with the values that a pullback would have read.
    Print the report to see all three parts.

    Parameters:
        error (BaseException): The exception.
        tape (Tape): The tape up to the line that raised it; it has no result.
        stack (tuple[Site, ...]): The lines of the user's frames, the innermost last.
    See Also:
        post_mortem

    Examples:
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
        left_out = [f"  … ({len(ops) - _LINES_SHOWN} before)"] if len(ops) > _LINES_SHOWN else []
        recorded = [f"  {line(op)}" + (f"  # {op.site}" if op.site else "") for op in ops[-_LINES_SHOWN:]]
        message = traceback.format_exception_only(self.error)[0].strip()
        stack = [f"  at {site}" for site in self.stack]
        return "\n".join([message, *stack, "recorded until then:", *left_out, *recorded])


def post_mortem(error: BaseException | None = None) -> PostMortem:
    """Return the recording of the traced function that raised `error`: a `PostMortem`, with tape and stack.

    The exception holds the recording, and frees it when it goes.

    Parameters:
        error (BaseException | None): The exception; by default the last uncaught one.
    Returns:
        PostMortem: The report, with the tape and the stack.
    Raises:
        WengertError: No traced function raised `error`.
    See Also:
        PostMortem, debug_nans

    Examples:
        >>> try:
        ...     wg.grad(lambda x: [x * x][1])(1.0)
        ... except IndexError as error:
        ...     print(wg.post_mortem(error).tape)
        Tape(Context)
          inp %1 = <lambda>::function
          inp %2 = x::float
          %3 = mul(%2, %2)::float
    """
    error = getattr(sys, "last_value", None) if error is None else error
    for each in _chain(error):
        trace = vars(each).get("__wengert__")
        if isinstance(trace, LastTrace):
            return PostMortem(each, _recorded_tape(trace), _user_stack(each))
    raise WengertError(
        f"no trace was recorded for {error!r}\n"
        "  fix: pass the exception that trace, grad, vjp or a gradient function raised, not a copy of it"
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, and then the exceptions that caused it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _recorded_tape(trace: LastTrace) -> Tape:
    inputs = sum(entry is not None and entry[0].kind == "input" for entry in trace.entries)
    entries = trace.entries
    while entries and entries[-1] is not None and entries[-1][0].fn is raises:  # an uncaught error decides nothing
        entries = entries[:-1]
    tape = Tape.from_entries(entries, MISSING, _parameter_names(trace.f, inputs), trace.f)
    for op in tape:
        if isinstance(op, Call) and op.val is None and not op.guard:
            op.val = MISSING  # the recording did not keep it
    return tape


def _parameter_names(f: Callable[..., Any] | None, count: int) -> list[str]:
    """Return the names of the function's parameters if each is one input, else none."""
    try:
        names = list(signature(f).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
    return names if len(names) == count else []


def _user_stack(error: BaseException) -> tuple[Site, ...]:
    frames = traceback.walk_tb(error.__traceback__)
    return tuple(
        Site(frame.f_code.co_filename, number, frame.f_code.co_qualname)
        for frame, number in frames
        if not is_ours(frame)
    )


__all__ = ["PostMortem", "post_mortem"]
