"""The rule registry: one rule per primitive, found by the callable itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from wengert.binding import Rule
from wengert.callables import callable_name, place, stub
from wengert.errors import DuplicateRuleError, NoRuleError, RuleError
from wengert.projection import project
from wengert.values import Spec, is_inexact, spec_of

__all__ = ["Registry", "rules"]

Args = tuple[Any, ...]
Pullback = Callable[[Any], Args]


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


rules = Registry()
