"""The rule registry: one rule per primitive, found by the callable itself."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from wengert.binding import Rule
from wengert.callables import callable_name, called, key_of, place, stub
from wengert.errors import DuplicateRuleError, NoRuleError, RuleError
from wengert.journal import Journal
from wengert.plugins import Plugins
from wengert.projection import project
from wengert.values import Spec, is_inexact, spec_of

__all__ = ["Registry", "rules"]

Args = tuple[Any, ...]
Pullback = Callable[[Any], Args]


class Registry:
    """The table of rules. A lookup sees it as it is at that moment; `version` grows with each change.

    One table serves all threads. With a `group`, the entry points of that name are loaded at the first lookup.
    """

    def __init__(self, group: str | None = None) -> None:
        self.version = 0
        self.watchers: list[Callable[[], None]] = []  # called after each change
        self.has_methods = False  # whether a bound method ever was a target
        self._rules: dict[Any, Rule] = {}
        self._lock = threading.RLock()
        self._journal = Journal()
        self._plugins = None if group is None else Plugins(group, self, lambda: self._undone(_on_error))

    def __getitem__(self, f: Callable[..., Any]) -> Rule:
        rule = self.get(f)
        if rule is None:
            raise NoRuleError(f"{callable_name(f)} has no rule. To give it one:\n\n{stub(f, 1)}")
        return rule

    def get(self, f: Any) -> Rule | None:
        """The rule of a callable, or None."""
        self.load()
        return self._find(f)

    def __contains__(self, f: Any) -> bool:
        return self.get(f) is not None

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        self.load()
        return iter([called(key) for key in tuple(self._rules)])

    def __len__(self) -> int:
        self.load()
        return len(self._rules)

    def load(self) -> dict[str, list[str]]:
        """Load the rules that other distributions bring, if that is yet to be done; what each of them brought."""
        if self._plugins is None:
            return {}
        if not self._plugins.done:
            self._plugins.load()
        return self._plugins.loaded

    def skip(self, *distributions: str) -> None:
        """Leave out the rules that these distributions bring (all, where none is named), before the first use."""
        if self._plugins is not None:
            self._plugins.skip(distributions)

    def add(self, rule: Rule) -> Rule:
        """Enter a rule under all its targets.

        Errors: DuplicateRuleError where another rule stands; the same line of code run again replaces itself.
        """
        with self._lock:
            for f in rule.targets:
                if not callable(f):
                    of = ": the function of a property is its .fget" if isinstance(f, property) else ""
                    raise RuleError(f"{rule.name} ({rule.where}): {f!r} is not callable{of}")
                old = self._find(f)
                if old is not None and (old.where, old.name) != (rule.where, rule.name):
                    raise DuplicateRuleError(
                        f"{callable_name(f)} already has a rule, {old.name} at {old.where}; "
                        f"the second is {rule.name} at {rule.where}. "
                        f"To replace the first, take it out: rules.remove({callable_name(f)})"
                    )
            for f in rule.targets:
                self._journal.put(self._rules, key_of(f), rule)
                self.has_methods |= type(f) is types.MethodType
            self._changed()
        return rule

    def remove(self, f: Callable[..., Any]) -> None:
        """Forget the rule of `f` under all its names."""
        rule = self[f]
        with self._lock:
            for target in rule.targets:
                if self._find(target) is rule:
                    self._journal.put(self._rules, key_of(target), None)
            self._changed()

    def accumulate(self, f: Callable[..., Any], arg: int, accumulator: Callable[..., Any]) -> None:
        """Enter how the cotangent of argument `arg` is added in place."""
        rule, where = self._find(f) or self[f], place(accumulator)
        old = rule.accumulators.get(arg)
        if old is not None and place(old) != where:
            raise DuplicateRuleError(
                f"{callable_name(f)} already accumulates argument {arg} at {place(old)}; the second is at {where}"
            )
        with self._lock:
            self._journal.put(rule.accumulators, arg, accumulator)
            self._changed()

    @contextmanager
    def scope(self) -> Iterator[Registry]:
        """What this thread changes inside the `with` block is undone at its end; meanwhile all threads see it."""
        self.load()
        with self._undone(lambda error: True):
            yield self

    @contextmanager
    def _undone(self, when: Callable[[BaseException | None], bool]) -> Iterator[None]:
        """Undo what this thread changes inside, if `when(error)`."""
        changes: list[Any] = []
        try:
            with self._journal.block(when) as changes:
                yield
        finally:
            if changes:
                self._changed()

    def _find(self, f: Any) -> Rule | None:
        return self._rules.get(key_of(f))

    def _changed(self) -> None:
        self.version += 1
        for watcher in self.watchers:
            watcher()

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

        parts = tuple([spec_of(part) for part in y]) if isinstance(y, tuple) else ()

        def pullback(y_bar: Any) -> Args:
            if parts and isinstance(y_bar, dict):  # names the parts that were used
                y_bar = rule.result_bar(y_bar, parts)
            return rule.gather(_projected(rule, inner(y_bar), specs), args)

        return y, pullback


def _on_error(error: BaseException | None) -> bool:
    return error is not None


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
    y, inner = value_and_pullback(rule, rule.body(*args, **static))

    return y, lambda y_bar: rule.cotangents(inner(y_bar), args)


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


rules = Registry("wengert.rules")
