"""Primitives: callables with rules, recorded as one call and not entered, and the forms of their calls."""

from __future__ import annotations

import copy
import functools
import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.recording import pullback_reads
from wengert.rulebook.registry import rules
from wengert.rulebook.rule import MOST_ARGUMENTS, Carrier, Rule, Variant
from wengert.values.functional import additem, getfield, setitem
from wengert.values.lazy_attribute import computed_once, derived_together
from wengert.values.names import home_of, is_of_library, is_of_wengert, makes_new, runs_python, ufunc_of

_HOW = ("nothing", "shape", "value")
_OF_WENGERT = f"{os.sep}wengert_rules{os.sep}"


class Ruled(Carrier):
    """Wrapper of an unhashable callable for recordings and tapes: hashed by identity, called as the callable."""

    def __init__(self, it: Any) -> None:
        self.it = it
        self.__name__ = getattr(it, "__name__", type(it).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.it(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return type(other) is Ruled and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)

    @property
    def own_rule(self) -> Rule:
        return rules[self.it]


def hashable(f: Any) -> Any:
    """Return a callable, as a Ruled where it has no hash."""
    try:
        hash(f)
    except TypeError:
        return Ruled(f)
    return f


class Primitive:
    """A callable that is recorded and not entered, with its rule."""

    is_simple, at_key = False, None
    __slots__ = (
        "asks_subclasses",
        "bounds",
        "fn",
        "fn_of_array",
        "has_users_rule",
        "is_array_function",
        "is_python",
        "is_trusted",
        "kind",
        "may_return_foreign_view",
        "name",
        "on_floats",
        "pairs",
        "reads_outside",
        "recorder",
        "returns_new",
        "rule",
        "scalars",
        "simple",
        "step",
    )

    def __init__(self, fn: Any, rule: Rule | None, kind: str = "call", name: str | None = None) -> None:
        self.fn = fn
        self.fn_of_array = _on_one_array(fn) if type(fn) is type(np.sum) else fn
        self.rule = rule
        self.kind = kind
        self.step = None
        fn = fn.it if type(fn) is Ruled else fn
        ufunc = ufunc_of(fn)
        own = getattr(fn, "__name__", type(fn).__name__)
        self.name = name or (own if ufunc is None else f"{ufunc.__name__}.{own}")
        self.recorder: Any = None
        self.returns_new = makes_new(fn)  # each number and array that it returns is a new one
        self.reads_outside = rule is not None and _reads_outside(rule)
        # a library's function: it calls no code of the user's, and its result is new or one of its arguments
        self.is_trusted = (self.returns_new or is_of_library(fn)) and not self.reads_outside
        self.is_python = not self.is_trusted and runs_python(fn)  # the user's, which nobody follows
        self.may_return_foreign_view = not self.is_trusted and rule is not None and not rule.view
        self.has_users_rule = rule is not None and _OF_WENGERT not in rule.where
        is_formula = rule is not None and rule.kind == "partials" and not rule.identity
        self.on_floats = is_formula and self.returns_new and self.is_trusted
        home = home_of(fn)
        on_operands = (home == "_operator" or fn is pow or fn is divmod) and rule is not None and rule.broadcasts
        of_numpy = isinstance(ufunc or fn, np.ufunc) or home.startswith("numpy") or on_operands
        takes_parts = rule is not None and rule.kind in ("rrule", "constant")
        self.is_array_function = of_numpy or (home.startswith("scipy") and not takes_parts)
        self.asks_subclasses = of_numpy or getattr(fn, "__objclass__", None) in (np.ndarray, np.generic)
        self.bounds: dict[Any, Bound] = {}
        self.simple: dict[tuple[bool, ...], Bound] = {}
        self.scalars: dict[tuple[bool, ...], Bound] = {}
        self.pairs: list[Bound | None] = [None] * 4  # simple forms: of one argument, then of two by which are traced

    def bound(self, nargs: int, mask: tuple[bool, ...], kwnames: tuple[str, ...]) -> Bound:
        """This primitive for calls of one form: `nargs` arguments, those in `mask` traced, and keywords."""
        key = (nargs, mask, kwnames)
        bound = self.bounds.get(key)
        if bound is None:
            bound = Bound(self, nargs, mask, kwnames)
            if nargs <= MOST_ARGUMENTS:
                self.bounds[key] = bound
        return bound

    def simple_bound(self, mask: tuple[bool, ...]) -> Bound:
        """`bound` for a call by position only."""
        bound = self.simple.get(mask)
        if bound is None:
            bound = self.simple[mask] = self.bound(len(mask), mask, ())
            if bound.is_simple and self.is_trusted and len(mask) <= 2:
                self.pairs[mask[0] + 2 * mask[1] if len(mask) == 2 else 0] = bound
        return bound

    def scalar_bound(self, mask: tuple[bool, ...]) -> Bound:
        """The form of call on floats only, whose reverse step is a formula."""
        bound = self.scalars.get(mask)
        if bound is None:
            bound = self.scalars[mask] = Bound(self, len(mask), mask, ())
            bound.of_numbers = True
            bound.step = _first_step
        return bound

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


class Bound:
    """A primitive in one form of call: which arguments are wanted, and what of each its pullback reads.

    `residual_kinds[k]` says what an entry keeps of argument k: "value", "shape", "static" or "nothing";
    `residual_places` has each k whose value it keeps. `step` is its
    part of the reverse pass on floats and `array_step` that on arrays, generated after some uses; `forth` is that of
    forward mode on floats. `scatter` adds to the cotangent of the only wanted argument, the first; `above`: so many
    elements has an x̄ to which it pays to add in place, or None. `of_numbers`: all arguments are numbers.
    `of_subclass`: an argument is of a class made from `np.ndarray`, whose operators no rule must meet. `at_key` is `fn`
    if it reads or writes a part of an array, so that the reverse pass has a step for it that reads no rule.
    """

    __slots__ = (
        "__dict__",
        "above",
        "array_step",
        "at_key",
        "fn",
        "forth",
        "is_simple",
        "kind",
        "name",
        "nargs",
        "of_numbers",
        "of_subclass",
        "outer_state",
        "places",
        "plan",
        "positions",
        "primitive",
        "rule",
        "scatter",
        "step",
        "uses",
        "wanted",
    )

    variant = derived_together[Variant | None]()
    call = derived_together[Callable[..., Any] | None]()
    reads_y = derived_together[str]()
    residual_kinds = derived_together[tuple[str, ...]]()
    residual_places = derived_together[tuple[int, ...]]()

    def __init__(self, primitive: Primitive, nargs: int, mask: tuple[bool, ...], kwnames: tuple[str, ...]) -> None:
        rule = primitive.rule
        assert rule is not None
        self.primitive = primitive
        self.fn, self.name, self.kind, self.rule = primitive.fn, primitive.name, primitive.kind, rule
        self.at_key = primitive.fn if primitive.fn in _AT_A_KEY else None
        self.step: Callable[..., None] | None = None
        self.forth: Callable[[Any, Any], Any] | None = None
        self.array_step: Callable[..., None] | None = None
        self.uses = 0
        self.outer_state: pullback_reads.OuterState | None = None
        self.of_subclass = self.of_numbers = False
        self.nargs, self.plan = nargs, rule.plan(nargs, kwnames)
        self.positions = self.plan.positions
        self.wanted = tuple(mask[p] for p in self.positions)
        self.places = tuple(k for k, wanted in enumerate(self.wanted) if wanted)
        self.is_simple = (
            self.has_variant
            and len(self.positions) == nargs
            and not kwnames
            and rule.sequence is None
            and not any([a.scatters or not a.above for a in rule.accumulators.values()])
            and not rule.identity
            and not (rule.analysis is not None and rule.analysis.acts)
            and primitive.fn not in (additem, setitem, getfield)
        )  # the engine steps back through these itself
        self.above = min([a.above for a in rule.accumulators.values()], default=None)
        first = rule.accumulators.get(0)
        alone = first is not None and first.scatters and not kwnames and self.places == (0,)
        self.scatter = first.action if first is not None and alone else None

    @property
    def has_variant(self) -> bool:
        """Whether the rule is a body from which the pullback to the wanted arguments is derived."""
        return self.rule.kind in ("partials", "pullback") and any(self.wanted)

    def derive(self) -> None:
        """Derive the pullback to the wanted arguments, and what it and the pushforward read."""
        kinds = ["static"] * self.nargs
        variant, reads_y = self.plan.variant(self.wanted) if self.has_variant else None, "value"
        if variant is not None:
            reads_y = variant.reads_y
            for place, reads, wanted in zip(self.positions, variant.reads, self.wanted, strict=True):
                kinds[place] = "shape" if reads == "nothing" and wanted else reads
            forward = self.rule.forward_reads(len(self.positions))
            if forward is not None:
                reads_y = max(reads_y, forward[1], key=_HOW.index)
                for place, reads in zip(self.positions, forward[0], strict=True):
                    kinds[place] = max(kinds[place], reads, key=_HOW.index)
        self.call = None if variant is None else variant.call
        self.residual_kinds, self.reads_y, self.variant = tuple(kinds), reads_y, variant
        self.residual_places = tuple([k for k, how in enumerate(kinds) if how == "value"])

    def residuals(self, entry: Any) -> list[Any]:
        """Return the values in an entry of this form that its pullback reads."""
        args = entry[3]
        residuals = [args[k] for k in self.residual_places]
        if self.reads_y == "value":
            residuals.append(entry[1])
        return residuals

    @computed_once
    def on_part(self) -> PartUpdate:
        """This form, on a part of an array, as the op of an entry."""
        return PartUpdate(self)

    def with_outer_state(self, state: pullback_reads.OuterState) -> Bound:
        """Return this form for one call whose rule must read everything outside its arguments as it is now."""
        made = self.in_general()
        made.outer_state = state
        return made

    def with_subclass(self) -> Bound:
        """Return this form for one call with an argument of an `np.ndarray` subclass."""
        made = self.in_general()
        made.of_subclass = True
        return made

    def in_general(self) -> Bound:
        """Return a copy for which no generated reverse step is used."""
        made = copy.copy(self)
        made.is_simple, made.scatter = False, None
        return made


class PartUpdate:
    """The op of the entry of `a[key] op= v`: a call, of the form `bound`, whose result is stored into the array again.

    The entry has the Spec of the array, the key, and what `bound` keeps of the part and of `v`; its value is the part.
    """

    is_simple, step, scatter, outer_state, kind = False, None, None, None, "call"
    __slots__ = ("at_key", "bound", "fn", "name", "reads_y", "residual_kinds", "rule", "wanted")

    def __init__(self, bound: Bound) -> None:
        self.bound, self.fn, self.name, self.rule = bound, bound.fn, bound.name, bound.rule
        self.reads_y, self.wanted, self.at_key = bound.reads_y, bound.wanted, PartUpdate
        self.residual_kinds = ("shape", "static", *bound.residual_kinds)


_AT_A_KEY = (operator.getitem, setitem, additem)
_REDUCING = {np.sum: np.add, np.prod: np.multiply, np.max: np.maximum, np.min: np.minimum}


def _on_one_array(fn: Any) -> Callable[..., Any]:
    """Return what a function of NumPy's calls for one plain array, without its dispatch to other classes."""
    ufunc = _REDUCING.get(fn)
    return getattr(fn, "_implementation", fn) if ufunc is None else functools.partial(ufunc.reduce, axis=None)


def _first_step(y_bar: Any, entry: Any, table: Any) -> None:
    """Derive the reverse step of a form on floats when it is first taken, and take it."""
    bound: Bound = entry[0]
    bound.step = bound.rule.scalar_step(bound.wanted)
    bound.step(y_bar, entry, table)


def _reads_outside(rule: Rule) -> bool:
    """Whether a rule that runs only in the reverse pass reads state that may change before it."""
    derived = rule.kind in ("partials", "pullback") and not is_of_wengert(rule.body)
    return derived and pullback_reads.OuterState(rule.body, None, id).finds_any()


INPUT = Primitive(None, None, "input", "input")
CONSTANT = Primitive(None, None, "constant", "constant")


_primitives: dict[Any, Primitive] = {}
"""Under the rules as they are."""


def _rules_changed() -> None:
    global _primitives
    _primitives = {}  # another, lest what is found meanwhile under the rules before be entered in it


rules.watchers.append(_rules_changed)


class ShortForms:
    """The bound primitives that are recorded most often, without a look-up."""

    item: Any = None
    stores: Any = None  # by whether the array and the number are traced
    sums: Any = None  # of `y[a:b] += v`, by whether `y` and `v` are traced
    negative: Primitive | None = None  # of the `v` of `y[a:b] -= v`, which is recorded as `y[a:b] += -v`


def ruled(fn: Any) -> Primitive:
    """Return the primitive of a callable for which this package has a rule."""
    primitive = primitive_of(fn)
    assert primitive is not None, f"no rule for {fn}"
    return primitive


def primitive_of(fn: Any) -> Primitive | None:
    """Return the primitive of a callable that has a rule; None for others."""
    known = _primitives
    try:
        primitive = known.get(fn)
    except TypeError:
        return Primitive(hashable(fn), rules[fn]) if fn in rules else None
    if primitive is None:
        rule = rules.get(fn)
        if rule is None:
            return None
        primitive = known[fn] = Primitive(fn, rule)
    return primitive
