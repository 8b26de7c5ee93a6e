"""Context: what a trace asks about each call, to be subclassed by users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wengert.rulebook.registry import rules
from wengert.tape.ops import Variable, mkcall


class Context:
    """What a trace does with a call; subclass it to count calls, to record other calls, or to refuse some.

    Operators and functions in C are always recorded where a traced value reaches them; `is_primitive` decides about
    Python functions. Everything that is recorded goes through `record_primitive`; writes into arrays, and the steps of
    a gradient that the function asks for, after they were done: these can be counted and refused, not replaced.
    """

    def is_primitive(self, f: Any, *args: Any) -> bool:
        """Whether a call of f is recorded (it has a rule) and not entered."""
        return rules.get(f) is not None

    def record_primitive(self, tape: Any, v_f: Any, *v_args: Any, **v_kwargs: Any) -> Variable:
        """Write a call of a primitive on the tape; the Variable that stands for its value.

        `v_f`, `v_args` and `v_kwargs` are Variables or plain values. The function goes on with the Variable's value.
        """
        return tape.push(mkcall(v_f, *v_args, **v_kwargs))

    def rebind(self, changes: Mapping[Variable, Variable]) -> None:
        """Exchange the Variables that the context holds, where `tape.rebind` does so on the tape."""
