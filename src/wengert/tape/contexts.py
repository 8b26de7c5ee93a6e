"""Context: the class whose methods a trace calls for each call of the function; users subclass it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.rulebook.registry import rules
from wengert.tape.ops import Variable, mkcall


class Context:
    """The policy of a trace for calls; subclass it to count calls, to record other calls, or to refuse some.

    Operators and C functions are always recorded if a traced value reaches them; `is_primitive` decides about Python
    functions. Every recorded call goes through `record_primitive`. In-place writes, and the steps of a gradient inside
    the function, reach it only after they ran: you may count or refuse these, but not replace them.

    See Also:
        trace, RRuleContext

    Examples:
        >>> class Counting(wg.Context):
        ...     calls = 0
        ...     def record_primitive(self, tape, v_f, *v_args, **v_kwargs):
        ...         self.calls += 1
        ...         return super().record_primitive(tape, v_f, *v_args, **v_kwargs)
        >>> counting = Counting()
        >>> _ = wg.trace(lambda x: x * x + 1, 3.0, ctx=counting)
        >>> counting.calls
        2
    """

    def is_primitive(self, f: Any, *args: Any) -> bool:
        """Whether a call `f(*args)` is recorded instead of entered; by default, if f has a rule."""
        return rules.get(f) is not None

    def record_primitive(self, tape: Any, v_f: Any, *v_args: Any, **v_kwargs: Any) -> Variable:
        """Write a call of a primitive on `tape`, and return the Variable of its value.

        `v_f`, `v_args` and `v_kwargs` are Variables or plain values. The traced function continues with the Variable's
        value.
        """
        return tape.push(mkcall(v_f, *v_args, **v_kwargs))

    def rebind(self, changes: Mapping[Variable, Variable]) -> None:
        """Replace each Variable v that the context holds by `changes[v]`; `tape.rebind` calls it."""
