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
from wengert.values import Spec, is_inexact, spec_of

__all__ = ["Plan", "Registry", "Rule", "Variant", "callable_name", "place", "rules", "stub"]

Args = tuple[Any, ...]
Pullback = Callable[[Any], Args]


class Rule:
    """How one primitive, under all its names, is differentiated.

    `kind` is "partials", "pullback", "rrule" or "constant"; `where` is file:line.
    """

    def __init__(
        self, name: str, targets: Sequence[Callable[..., Any]], kind: str, body: Callable[..., Any] | None,
        where: str, *, broadcasts: bool = False, view: bool = False, identity: bool = False,
        sequence: int | None = None, names: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.targets, self.kind, self.body, self.where = name, tuple(targets), kind, body, where
        self.broadcasts, self.view, self.identity, self.sequence = broadcasts, view, identity, sequence
        self.names = dict(names or {})
        self.accumulators: dict[int, Callable[..., Any]] = {}
        self.analysis = Body(body, kind) if body is not None else None
        self._plans: dict[tuple[int, tuple[str, ...]], Plan] = {}
        self._variants: dict[tuple[bool, ...], Variant] = {}
        self._steps: dict[tuple[bool, ...], Callable[[Any, Any, Any], None]] = {}

    def __repr__(self) -> str:
        return f"<{self.kind} rule {self.name} of {self.primitive}, {self.where}>"

    @property
    def primitive(self) -> str:
        """The primitive's name in messages."""
        return callable_name(self.targets[0])

    def normalise(self, args: Args, kwargs: Mapping[str, Any] | None) -> tuple[Args, dict[str, Any]]:
        """The same call with every differentiable argument by position.

        Errors: NoRuleError where an argument before a named one is missing.
        """
        last = len(args) if self.sequence is None else self.sequence + 1
        if self.analysis is None or (not kwargs and len(args) <= last):
            return args, dict(kwargs or {})
        kwargs = {self.names.get(name, name): value for name, value in (kwargs or {}).items()}
        if self.sequence is not None:
            args, kwargs = self._after_sequence(args, kwargs)
        named = self.analysis.names
        last = max((i for i, name in enumerate(named) if name in kwargs), default=-1)
        filled = list(args)
        for i, name in enumerate(named[len(args) :] if last >= 0 else (), len(args)):
            if name not in kwargs and name not in self.analysis.defaults:
                if i > last:
                    break
                raise NoRuleError(f"{self.primitive}: argument {name!r} is missing ({self._declares()})")
            filled.append(kwargs.pop(name) if name in kwargs else self.analysis.defaults[name])
        return tuple(filled), kwargs

    def plan(self, nargs: int, kwnames: tuple[str, ...] = ()) -> Plan:
        """How a normalised call meets the rule; `nargs` counts its arguments, a sequence's one by one."""
        key = (nargs, kwnames)
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = Plan(self, nargs, kwnames)
        return found

    def variant(self, wanted: tuple[bool, ...]) -> Variant:
        """The pullback for the wanted among the first arguments."""
        found = self._variants.get(wanted)
        if found is None:
            if self.kind == "rrule" or self.analysis is None:
                raise RuleError(f"{self!r} states no pullback that could be derived from; call the rule")
            found = self._variants[wanted] = self.analysis.variant(wanted)
        return found

    def scalar_step(self, wanted: tuple[bool, ...]) -> Callable[[Any, Any, Any], None]:
        """The reverse step of a call on one or two floats, `step(g, entry, bars)`."""
        found = self._steps.get(wanted)
        if found is None:
            if self.kind != "partials" or self.analysis is None:
                raise RuleError(f"{self!r} has no scalar step: it does not state partials")
            found = self._steps[wanted] = scalar_step(self.analysis, wanted)
        return found

    def splat(self, args: Args) -> Args:
        """The arguments as the rule sees them: those of the sequence one by one."""
        k = self.sequence
        return args if k is None or self.is_single(args[k]) else (*args[:k], *args[k], *args[k + 1 :])

    def gather(self, bars: Sequence[Any], args: Args) -> Args:
        """One cotangent per argument of the call, from one per splatted argument; a list for a sequence."""
        k = self.sequence
        if k is not None and not self.is_single(args[k]):
            n = len(args[k])
            inner: Any = list(bars[k : k + n])
            if isinstance(args[k], np.ndarray):  # its rows were the sequence
                inner = np.stack(inner) if all(x is not None for x in inner) else None
            bars = (*bars[:k], inner, *bars[k + n :])
        return (*bars, *[None] * (len(args) - len(bars)))

    def is_single(self, value: Any) -> bool:
        """Whether the place of a sequence holds one array or number: `np.asarray(x)`."""
        return self.identity and not isinstance(value, (list, tuple))

    def _after_sequence(self, args: Args, kwargs: dict[str, Any]) -> tuple[Args, dict[str, Any]]:
        """Arguments after the sequence go by name: behind a splatted one their place would say nothing."""
        assert self.analysis is not None
        assert self.sequence is not None
        k, variadic, static = self.sequence, self.analysis.variadic, self.analysis.static
        if len(args) == k and variadic in kwargs:
            args = (*args, kwargs.pop(variadic))
        extra = args[k + 1 :]
        if len(extra) > len(static):
            raise NoRuleError(f"{self.primitive}: {len(args)} arguments by position ({self._declares()})")
        return args[: k + 1], kwargs | dict(zip(static, extra, strict=False))

    def _declares(self) -> str:
        assert self.analysis is not None
        variadic = [f"*{self.analysis.variadic}"] if self.analysis.variadic else []
        declared = ", ".join([*self.analysis.names, *variadic, *self.analysis.static])
        return f"the rule at {self.where} declares {declared}"


class Plan:
    """How the arguments of a call are bound to a rule: the first are differentiable, the others static."""

    def __init__(self, rule: Rule, nargs: int, kwnames: tuple[str, ...]) -> None:
        self.rule = rule
        self.positions: tuple[int, ...] = ()
        self.static: tuple[str, ...] = ()
        analysis = rule.analysis
        if analysis is None:
            return
        for name in kwnames:
            if name not in analysis.static and not analysis.open:
                raise NoRuleError(
                    f"{rule.primitive}: the rule does not know the argument {name!r} ({rule._declares()}). "
                    f"Declare it after the `*` of the rule, and use it there"
                )
        count = nargs if analysis.variadic else min(nargs, len(analysis.names))
        self.positions = tuple(range(count))
        self.static = analysis.static[: nargs - count]
        if len(self.static) < nargs - count:
            raise NoRuleError(
                f"{rule.primitive}: the rule does not know argument {count + len(self.static) + 1} "
                f"of {nargs} given by position ({rule._declares()})"
            )

    def bind(self, args: Args, kwargs: Mapping[str, Any] | None = None) -> tuple[Args, dict[str, Any]]:
        """The differentiable arguments of a normalised, splatted call, and the static ones by name."""
        count = len(self.positions)
        static = dict(zip(self.static, args[count:], strict=False))
        return args[:count], static | dict(kwargs or {})

    def variant(self, wanted: tuple[bool, ...]) -> Variant:
        """The pullback for a wanted set, one flag per position."""
        return self.rule.variant(wanted)


class Registry:
    """The table of rules. A lookup sees it as it is at that moment; `version` grows with each change."""

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
                raise DuplicateRuleError(
                    f"{callable_name(f)} already has a rule, {old.name} at {old.where}; "
                    f"the second is {rule.name} at {rule.where}. "
                    f"To replace the first, take it out: rules.remove({callable_name(f)})"
                )
        for f in rule.targets:
            self._rules[f] = rule
        self.version += 1
        return rule

    def remove(self, f: Callable[..., Any]) -> None:
        """Forget the rule of `f` under all its names."""
        for target in self[f].targets:
            self._rules.pop(target, None)
        self.version += 1

    def accumulate(self, f: Callable[..., Any], arg: int, accumulator: Callable[..., Any]) -> None:
        """Enter how the cotangent of argument `arg` is added in place."""
        rule, where = self[f], place(accumulator)
        old = rule.accumulators.get(arg)
        if old is not None and place(old) != where:
            raise DuplicateRuleError(
                f"{callable_name(f)} already accumulates argument {arg} at {place(old)}; the second is at {where}"
            )
        rule.accumulators[arg] = accumulator
        self.version += 1

    @contextmanager
    def scope(self) -> Iterator[Registry]:
        """Changes made inside the `with` block are undone at its end."""
        saved = dict(self._rules)
        try:
            yield self
        finally:
            self._rules = saved
            self.version += 1

    def rrule(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Pullback]:
        """The value of a call and its pullback, which gives one cotangent (or None) per positional argument.

        Whatever the form of the rule; an argument given by name counts where the rule has it by position.
        """
        rule = self[f]
        args, kwargs = rule.normalise(args, kwargs)
        plan = rule.plan(len(rule.splat(args)), tuple(kwargs))
        primals, static = plan.bind(rule.splat(args), kwargs)
        specs = [spec_of(x) if is_inexact(x) else None for x in primals]
        if rule.kind == "rrule":
            y, inner = _called(rule, primals, static)
        else:
            y = f(*args, **kwargs)
            inner = _derived(rule, specs, y, primals, static)

        def pullback(y_bar: Any) -> Args:
            return rule.gather(_projected(rule, inner(y_bar), specs), args)

        return y, pullback


def _derived(rule: Rule, specs: Sequence[Spec | None], y: Any, primals: Args, static: Mapping[str, Any]) -> Pullback:
    """The pullback of a rule that states partials or a pullback; it holds on to what it reads only."""
    if rule.kind == "constant":
        return lambda y_bar: ()
    variant = rule.variant(tuple(spec is not None for spec in specs))
    y_kept, kept = variant.residuals(y, primals)
    return lambda y_bar: variant.call(y_bar, y_kept, *kept, **static)


def _called(rule: Rule, args: Args, static: Mapping[str, Any]) -> tuple[Any, Pullback]:
    """Call a rule of the general form, holding it to its contract."""
    assert rule.body is not None
    assert rule.analysis is not None
    most = max(len(args), len(rule.analysis.names))
    y, inner = value_and_pullback(rule, rule.body(*args, **static))

    def pullback(y_bar: Any) -> Args:
        bars = inner(y_bar)
        whole = len(args) == 1 and isinstance(args[0], tuple)  # the cotangent of a tuple is one too
        if not isinstance(bars, tuple) or (whole and len(bars) != 1):
            bars = (bars,)
        if not len(args) <= len(bars) <= most:
            raise RuleError(
                f"the pullback of {rule.primitive} ({rule.where}) returned {len(bars)} cotangents "
                f"for {len(args)} arguments; give None for one without a derivative"
            )
        return bars[: len(args)]

    return y, pullback


def value_and_pullback(rule: Rule, made: Any) -> tuple[Any, Pullback]:
    """What a rule of the general form returned, if it is of that form."""
    if not isinstance(made, tuple) or len(made) != 2 or not callable(made[1]):
        raise RuleError(
            f"the rule of {rule.primitive} ({rule.where}) must return (y, pullback), not {type(made).__name__}"
        )
    return made


def _projected(rule: Rule, bars: Sequence[Any], specs: Sequence[Spec | None]) -> Args:
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
        modules = [(name, vars(m)) for name, m in sys.modules.copy().items() if hasattr(m, "__dict__")]
        homes = [name for name, names in modules if names.get(f.__name__) is f and "._" not in name]
        known = [name for name in homes if name.partition(".")[0] in ("numpy", "scipy")]
        return f"{min(known or homes or ['numpy'], key=len)}.{f.__name__}"
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    module = getattr(getattr(f, "__objclass__", f), "__module__", None) or ""
    if module in ("_operator", "_functools"):
        module = module[1:]
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
    if nargs == 1:
        results = ["        return y_bar * ...  # dy/dx, times y_bar"]
    else:
        each = [f"            y_bar * ...,  # dy/d{x}, times y_bar" for x in xs]
        results = ["        return (", *each, "        )"]
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
