"""Explanations of how wengert treats a callable: the decision, its reason, the line behind it, the next step."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from wengert.errors import ArgumentError
from wengert.hooks import calls  # noqa: F401 (it registers the stand-ins)
from wengert.hooks.decide import decide, decide_method
from wengert.hooks.policy import Decision, Kind
from wengert.rulebook.registry import rules
from wengert.rulebook.rule import Rule
from wengert.values.callables import callable_name, place, stub, written_name
from wengert.values.sites import Site


class CallExplanation(NamedTuple):
    """The treatment of a call: its `kind`, `why` in a sentence, the line `where` it is decided, and the `next` step."""

    name: str
    kind: str
    why: str
    where: str
    next: str

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.kind}", f"    {self.why}", f"    {self.where}"]
        return "\n".join(lines + ([] if not self.next else ["", self.next]))


def explain_call(f: Callable[..., Any]) -> CallExplanation:
    """Explain how traced code treats a call of `f`: it records it, enters it, calls a replacement, or refuses it.

    A method of a class written in C, such as `list.append`, is explained for a call on an object.

    Parameters:
        f (callable): The function, method or class.
    Returns:
        CallExplanation: The decision, as `kind`, `why`, `where` and `next`; print it to see all of them.
    Raises:
        ArgumentError: `f` cannot be called.
    See Also:
        find_missing_rules, rules

    Examples:
        >>> print(wg.explain_call(np.sin).kind)
        recorded as one call
    """
    if not callable(f):
        raise ArgumentError(f"a {type(f).__name__} is not callable. Pass the function itself: wg.explain_call(np.sin).")
    rules.load()
    owner = f.__objclass__ if isinstance(f, types.MethodDescriptorType | types.WrapperDescriptorType) else None
    decision = decide(f) if owner is None else decide_method(f, owner, f.__name__)
    return CallExplanation(
        callable_name(f), decision.kind.value, decision.why, _decided_at(f, decision.by), _next_step(f, decision)
    )


def _decided_at(f: Any, by: Any) -> str:
    """Return the line behind a decision: of a rule, a stand-in, this package or the callable itself."""
    if isinstance(by, Rule):
        return f"{by.where} ({by.name})"
    if isinstance(by, Site):
        return f"{by.file}:{by.line}"
    code = f if by is None else by
    while isinstance(code, types.MethodType) or hasattr(code, "func"):
        code = code.__func__ if isinstance(code, types.MethodType) else code.func
    if isinstance(code, type):
        return _line_of_class(code)
    name = getattr(code, "__qualname__", type(code).__name__).partition(".")[
        0
    ]  # for a closure, the function that made it
    return place(code) if by is None else f"{place(code)} ({name})"


def _line_of_class(cls: type) -> str:
    try:
        return f"{inspect.getsourcefile(cls)}:{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return callable_name(cls)


def _next_step(f: Any, decision: Decision) -> str:
    """Suggest the user's next step if the call is refused, or one inside it."""
    if decision.kind is Kind.ENTERED:
        return f"wengert traces the calls inside it. If it refuses one, declare a rule for the whole:\n\n{stub(f)}"
    if decision.kind is Kind.SEARCHED:
        return f"To give it a rule:\n\n{stub(f)}\n\nIf it has no derivative: wg.non_differentiable({written_name(f)})."
    return ""
