"""The rule registry: one rule per primitive, found by the callable itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert.bodies import Body, Variant
from wengert.errors import DuplicateRuleError, NoRuleError, RuleError
from wengert.projection import project
from wengert.steps import scalar_step
from wengert.values import is_inexact, spec_of

__all__ = ["Plan", "Registry", "Rule", "Variant", "callable_name", "rules", "stub"]


class Rule:
    """How one primitive, under all its names, is differentiated."""

    def __init__(
        self, name: str, targets: Sequence[Callable[..., Any]], kind: str, function: Callable[..., Any] | None, where: str, *,
        broadcasts: bool = False, view: bool = False, identity: bool = False, sequence: int | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.targets, self.kind, self.body, self.where = name, tuple(targets), kind, function, where
        self.broadcasts, self.view, self.identity, self.sequence = broadcasts, view, identity, sequence
        self.names = dict(names or {})
        self.accumulators: dict[int, Callable[..., Any]] = {}
        self.analysis = Body(function, kind) if function is not None and kind in ("partials", "pullback") else None
        self._plans: dict[tuple[int, tuple[str, ...]], Plan] = {}
        self._variants: dict[tuple[bool, ...], Variant] = {}
        self._steps: dict[tuple[bool, ...], Callable[[Any, Any, Any], None]] = {}

    def __repr__(self) -> str:
        return f"<{self.kind} rule {self.name} of {self.primitive}, {self.where}>"

    @property
    def primitive(self) -> str:
        """The primitive's name in messages."""
        return callable_name(self.targets[0])

    def normalise(self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call with every differentiable argument by position.

        Errors: NoRuleError for an argument that the rule does not declare.
        """
        kwargs = dict(kwargs or {})
        if self.analysis is None:
            return args, kwargs
        if self.sequence is not None:
            args, kwargs = self._after_sequence(args, kwargs)
        for given, declared in self.names.items():
            if given in kwargs:
                kwargs[declared] = kwargs.pop(given)
        named = self.analysis.names
        last = max((i for i, name in enumerate(named) if name in kwargs), default=-1)
        filled = list(args)
        for name in named[len(args) : last + 1]:
            if name in kwargs:
                filled.append(kwargs.pop(name))
            elif name in self.analysis.defaults:
                filled.append(self.analysis.defaults[name])
            else:
                raise NoRuleError(f"{self.primitive}: argument {name!r} is missing ({self._declares()})")
        return tuple(filled), kwargs

    def plan(self, nargs: int, kwnames: tuple[str, ...] = ()) -> Plan:
        """How a call of this shape meets the rule; `nargs` counts the (splatted) positional arguments."""
        key = (nargs, kwnames)
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = Plan(self, nargs, kwnames)
        return found

    def variant(self, wanted: tuple[bool, ...]) -> Variant:
        """The pullback for the wanted among the first arguments."""
        found = self._variants.get(wanted)
        if found is None:
            if self.analysis is None:
                raise RuleError(f"{self!r} has no pullback of its own; call the rule")
            found = self._variants[wanted] = self.analysis.variant(wanted)
        return found

    def scalar_step(self, wanted: tuple[bool, ...]) -> Callable[[Any, Any, Any], None]:
        """The reverse step of a call on one or two floats, `step(g, entry, bars)`."""
        found = self._steps.get(wanted)
        if found is None:
            if self.analysis is None or self.kind != "partials":
                raise RuleError(f"{self!r} has no scalar step: it does not state partials")
            found = self._steps[wanted] = scalar_step(self.analysis, wanted)
        return found

    def splat(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as the rule sees them: those of the sequence one by one."""
        k = self.sequence
        return args if k is None else (*args[:k], *args[k], *args[k + 1 :])

    def gather(self, bars: Sequence[Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
        """One cotangent per argument of the call, from one per splatted argument; a list for a sequence."""
        k = self.sequence
        if k is not None:
            n = len(args[k])
            inner: Any = list(bars[k : k + n])
            if isinstance(args[k], np.ndarray) and inner[0] is not None:
                inner = np.stack(inner)
            bars = (*bars[:k], inner, *bars[k + n :])
        return (*bars, *[None] * (len(args) - len(bars)))

    def _after_sequence(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments after the sequence go by name: behind a splatted sequence their place would say nothing."""
        k, analysis = self.sequence, self.analysis
        if analysis.variadic in kwargs and len(args) == k:
            args = (*args, kwargs.pop(analysis.variadic))
        extra = args[k + 1 :]
        if len(extra) > len(analysis.static):
            raise NoRuleError(f"{self.primitive}: {len(args)} arguments by position ({self._declares()})")
        return args[: k + 1], kwargs | dict(zip(analysis.static, extra, strict=False))

    def _declares(self) -> str:
        return f"the rule at {self.where} declares {', '.join([*self.analysis.names, *self.analysis.static])}"


class Plan:
    """How the arguments of a call are bound to a rule: the first ones are differentiable, the others static."""

    def __init__(self, rule: Rule, nargs: int, kwnames: tuple[str, ...]) -> None:
        self.rule = rule
        self.positions: tuple[int, ...] = ()
        self.static: tuple[str, ...] = ()
        analysis = rule.analysis
        if analysis is None:
            self.positions = tuple(range(nargs)) if rule.kind == "rrule" else ()
            return
        for name in kwnames:
            if name not in analysis.static and not analysis.open:
                raise NoRuleError(f"{rule.primitive}: the rule does not know the argument {name!r} ({rule._declares()}). "
                                  f"Declare it after the `*` of the rule")
        count = nargs if analysis.variadic else min(nargs, len(analysis.names))
        self.positions = tuple(range(count))
        self.static = analysis.static[: nargs - count]
        if len(self.static) < nargs - count:
            raise NoRuleError(f"{rule.primitive}: the rule does not know argument {count + len(self.static)} "
                              f"(of {nargs} by position; {rule._declares()})")

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The differentiable arguments of a normalised, splatted call, and the static ones by name."""
        count = len(self.positions)
        static = dict(zip(self.static, args[count:], strict=True))
        return args[:count], static | kwargs if kwargs else static

    def variant(self, wanted: tuple[bool, ...]) -> Variant:
        """The pullback for a wanted set, one flag per position."""
        return self.rule.variant(wanted)


class Registry:
    """The table of rules; a lookup sees the table as it is at that moment."""

    def __init__(self) -> None:
        self.version = 0
        self._rules: dict[Callable[..., Any], Rule] = {}

    def __getitem__(self, f: Callable[..., Any]) -> Rule:
        rule = self.get(f)
        if rule is None:
            raise NoRuleError(f"{callable_name(f)} has no rule. To give it one:\n\n{stub(f, 1)}")
        return rule

    def get(self, f: Any) -> Rule | None:
        """The rule of a callable, or None."""
        try:
            return self._rules.get(f)
        except TypeError:  # unhashable, so never registered
            return None

    def __contains__(self, f: Any) -> bool:
        return self.get(f) is not None

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(tuple(self._rules))

    def __len__(self) -> int:
        return len(self._rules)

    def add(self, rule: Rule) -> Rule:
        """Enter a rule under all its targets.

        Errors: DuplicateRuleError where another rule stands; the same line of code run again replaces itself.
        """
        for f in rule.targets:
            if not callable(f):
                raise RuleError(f"{rule.name} ({rule.where}): {f!r} is not callable")
            old = self.get(f)
            if old is not None and (old.where, old.name) != (rule.where, rule.name):
                raise DuplicateRuleError(f"{callable_name(f)} already has a rule: {old.name} at {old.where}; "
                                         f"the second is {rule.name} at {rule.where}")
        for f in rule.targets:
            self._rules[f] = rule
        self.version += 1
        return rule

    def accumulate(self, f: Callable[..., Any], arg: int, accumulator: Callable[..., Any]) -> None:
        """Enter how the cotangent of argument `arg` is added in place."""
        rule, where = self[f], place(accumulator)
        old = rule.accumulators.get(arg)
        if old is not None and old is not accumulator and place(old) != where:
            raise DuplicateRuleError(f"{callable_name(f)} already accumulates argument {arg} at {place(old)}; "
                                     f"the second is at {where}")
        rule.accumulators[arg] = accumulator
        self.version += 1

    @contextmanager
    def scope(self) -> Iterator[Registry]:
        """Rules added inside the `with` block are forgotten at its end."""
        saved = dict(self._rules)
        try:
            yield self
        finally:
            self._rules = saved
            self.version += 1

    def rrule(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """The value of a call and its pullback, which gives one cotangent per positional argument (None: not differentiable)."""
        rule = self[f]
        if rule.kind == "rrule":
            return _called(rule, args, kwargs)
        if rule.analysis is None:
            return f(*args, **kwargs), lambda y_bar: (None,) * len(args)
        args, kwargs = rule.normalise(args, kwargs)
        plan = rule.plan(len(rule.splat(args)), tuple(kwargs))
        y = f(*args, **kwargs)
        primals, static = plan.bind(rule.splat(args), kwargs)
        specs = [spec_of(x) if is_inexact(x) else None for x in primals]
        variant = plan.variant(tuple(spec is not None for spec in specs))
        y_kept, kept = variant.residuals(y, primals)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            bars = variant.call(y_bar, y_kept, *kept, **static)
            return rule.gather(_projected(rule, bars, specs), args)

        return y, pullback


def _called(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Call a rule of the general form and check what it returns."""
    made = rule.body(*args, **kwargs)
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
        raise RuleError(f"the rule of {rule.primitive} ({rule.where}) must return (y, pullback), not {type(made).__name__}")
    y, inner = made
    specs = [spec_of(x) if is_inexact(x) else None for x in args]

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        bars = inner(y_bar)
        if not isinstance(bars, (tuple, list)) or (len(args) == 1 and isinstance(args[0], (tuple, list)) and len(bars) != 1):
            bars = (bars,)
        if len(bars) != len(args):
            raise RuleError(f"the pullback of {rule.primitive} ({rule.where}) returned {len(bars)} cotangents "
                            f"for {len(args)} arguments")
        return _projected(rule, bars, specs)

    return y, pullback


def _projected(rule: Rule, bars: Sequence[Any], specs: Sequence[Any]) -> tuple[Any, ...]:
    made = []
    for i, (x_bar, spec) in enumerate(zip(bars, specs, strict=True)):
        try:
            made.append(x_bar if x_bar is None or spec is None else project(x_bar, spec, rule.broadcasts))
        except RuleError as error:
            raise RuleError(f"the rule of {rule.primitive} ({rule.where}), argument {i}: {error}") from None
    return tuple(made)


def callable_name(f: Any) -> str:
    """The dotted name under which a user would write a callable."""
    if isinstance(f, np.ufunc):  # knows its name, not its module
        homes = (n for n, m in sys.modules.copy().items() if not n.startswith("numpy.") and vars(m).get(f.__name__) is f)
        return f"{min(homes, key=len, default='numpy')}.{f.__name__}"
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    owner = getattr(f, "__objclass__", None)
    module = getattr(owner or f, "__module__", None) or ""
    module = module.removeprefix("_") if module in ("_operator", "_math", "_functools") else module
    return name if module in ("", "builtins", "__main__") else f"{module}.{name}"


def place(function: Any) -> str:
    """file:line of a Python function."""
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else callable_name(function)


def stub(f: Callable[..., Any], nargs: int) -> str:
    """A rule to paste and fill in."""
    name = callable_name(f)
    short = name.rpartition(".")[2]
    short = short if short.isidentifier() else "f"
    xs = ["x"] if nargs == 1 else [f"x{i + 1}" for i in range(nargs)]
    results = [f"        return y_bar * ...  # dy/d{xs[0]}, times y_bar"] if nargs == 1 else [
        "        return (", *[f"            y_bar * ...,  # dy/d{x}, times y_bar" for x in xs], "        )"]  # fmt: skip
    lines = [
        f"@wg.rrule({name})",
        f"def {short}_rule({', '.join(xs)}):",
        f"    y = {name}({', '.join(xs)})",
        f"    def {short}_pullback(y_bar):",
        *results,
        f"    return y, {short}_pullback",
    ]
    return "\n".join(lines)


rules = Registry()
