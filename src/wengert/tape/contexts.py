"""Context: what a trace asks about each call; users subclass it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.rulebook.registry import rules
from wengert.tape.ops import Variable, mkcall


class Context:
    """The policy of a trace for calls; subclass it to count calls, to record other calls, or to refuse some.

    Operators and functions in C are always recorded where a traced value reaches them; `is_primitive` decides about
    Python functions. Everything that is recorded goes through `record_primitive`; writes into arrays, and the steps of
    a gradient that the function asks for, after they were done: these can be counted and refused, not replaced.

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
        """Whether a call `f(*args)` is recorded and not entered; by default where f has a rule."""
        return rules.get(f) is not None

    def record_primitive(self, tape: Any, v_f: Any, *v_args: Any, **v_kwargs: Any) -> Variable:
        """Write a call of a primitive on `tape`, and return the Variable that stands for its value.

        `v_f`, `v_args` and `v_kwargs` are Variables or plain values. The traced function goes on with the Variable's
        value.
        """
        return tape.push(mkcall(v_f, *v_args, **v_kwargs))

    def rebind(self, changes: Mapping[Variable, Variable]) -> None:
        """Put `changes[v]` in place of each Variable v that the context holds; `tape.rebind` calls it."""
