"""The rule registry: one rule per primitive, looked up by the callable."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from wengert.errors import DuplicateRuleError, NoRuleError, RuleError
from wengert.rulebook.calling import Pullback, by_hand, rrule
from wengert.rulebook.journal import Journal
from wengert.rulebook.lazy_rules import Companions
from wengert.rulebook.plugins import Plugins
from wengert.rulebook.rule import Accumulator, Carrier, Pushforward, Rule
from wengert.values.callables import callable_name, callable_of, key_of, place, stub
from wengert.values.fork_lock import lock_of_process
from wengert.values.names import home_of

__all__ = ["Registry", "rules"]

T = TypeVar("T")


class Registry:
    """The table of rules, `wg.rules`, by callable.

    Use `f in rules`, `rules[f]`, `len(rules)`, and iterate over its callables. `rules[f]` raises a NoRuleError, with a
    stub to complete, if f has no rule. All threads share the table, and a lookup sees its current state; `version`
    grows with each change. The first lookup loads the rules that other distributions provide, by entry points of the
    `group`. The first lookup after a library is imported loads the rules for its functions (`when_imported`).

    See Also:
        rrule, explain_call

    Examples:
        >>> np.sin in wg.rules, np.pad in wg.rules
        (True, False)
    """

    def __init__(self, group: str | None = None) -> None:
        self.version = 0
        self.watchers: list[Callable[[], None]] = []  # called after each change
        self.made: dict[Callable[[], Any], Any] = {}  # what was made under the present rules
        self.types: set[type] = set()  # the types of all targets so far
        self._rules: dict[Any, Rule] = {}
        self._batching: dict[Any, Callable[..., Any]] = {}
        self._standins: dict[Any, Callable[..., Any]] = {}
        self._compiled: dict[Any, Callable[..., Any]] = {}
        self._lock, self._loading = lock_of_process(), lock_of_process()
        self._loader: int | None = None  # the thread that loads rules
        self._journal = Journal()
        self._companions = Companions()
        self._plugins = None if group is None else Plugins(group, self, lambda: self._undone(_on_error))

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle `wg.rules` by name: a function that refers to it gets, elsewhere, the table of that process."""
        return "rules" if self is rules else super().__reduce__()

    def __getitem__(self, f: Callable[..., Any]) -> Rule:
        rule = self.get(f)
        if rule is None:
            name = callable_name(f)
            raise NoRuleError(
                f"{name} has no rule. It may not need one: wg.explain_call({name}) says how wengert treats its calls. "
                f"To declare a rule:\n\n{stub(f)}"
            )
        return rule

    def get(self, f: Any) -> Rule | None:
        """Return the rule of the callable `f`, or None."""
        if self._plugins is not None and not self._plugins.done:
            self._plugins.load()
        rule = self._find(f)
        if rule is None and self._companions.are_due():
            self._load_companions()
            rule = self._find(f)
        return rule

    def __contains__(self, f: Any) -> bool:
        return self.get(f) is not None

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        self.load()
        return iter([callable_of(key) for key in tuple(self._rules)])

    def __len__(self) -> int:
        self.load()
        return len(self._rules)

    def load(self) -> dict[str, list[str]]:
        """Load the rules of other distributions, unless that is done; return the entry points loaded from each.

        Also load the rules for the functions of imported libraries.
        """
        if self._companions.are_due():
            self._load_companions()
        if self._plugins is None:
            return {}
        if not self._plugins.done:
            self._plugins.load()
        return self._plugins.loaded

    def when_imported(self, library: str, rules: str) -> None:
        """Import the module `rules`, which registers rules, once the module `library` has been imported.

        The first lookup of a rule after that imports it, so that nothing is imported for a library that is not used.
        """
        self._companions.add(library, rules)

    def _load_companions(self) -> None:
        self._as_one_change(self._companions.load)

    def _as_one_change(self, load: Callable[[], None]) -> None:
        """Load rules, and have the watchers called once, at the end: each drops and remakes what all traces look up."""
        if self._loader == threading.get_ident():
            self._journal.apart(load)
            return
        version = self.version
        with self._loading:
            self._loader = threading.get_ident()
            try:
                self._journal.apart(load)
            finally:
                self._loader = None
                if self.version != version:
                    self._call_watchers()

    def _load_before(self, targets: tuple[Any, ...]) -> None:
        """Load pending rules before one is declared, so that a duplicate is reported as the second.

        Not before those for functions of wengert's own, which are declared while the modules that rules need load.
        """
        if self._loader != threading.get_ident() and not all([home_of(f).startswith("wengert.") for f in targets]):
            self._as_one_change(self._companions.load_before)

    def skip(self, *distributions: str) -> None:
        """Skip the rules of these `distributions`, or of all if none is named. Call this before the first lookup."""
        if self._plugins is not None:
            self._plugins.skip(distributions)

    def add(self, rule: Rule) -> Rule:
        """Add `rule` for each of its targets.

        Errors: DuplicateRuleError if a target has another rule. The same line of code, run again, replaces its rule.
        """
        self._load_before(rule.targets)
        with self._lock:
            for f in rule.targets:
                if not callable(f):
                    remedy = ": pass the property's function, its .fget" if isinstance(f, property) else ""
                    raise RuleError(f"{rule.name} ({rule.where}): {f!r} is not callable{remedy}")
                old = self._find(f)
                if old is not None and (old.where, old.name) != (rule.where, rule.name):
                    raise DuplicateRuleError(
                        f"{callable_name(f)} already has a rule, {old.name} at {old.where}; "
                        f"the second is {rule.name} at {rule.where}. "
                        f"To replace the first, remove it: rules.remove({callable_name(f)})"
                    )
            for f in rule.targets:
                self._journal.put(self._rules, key_of(f), rule)
                self.types.add(type(f))
            self._changed()
        return rule

    def remove(self, f: Callable[..., Any]) -> None:
        """Remove the rule of `f`, for all functions that it was declared for."""
        rule = self[f]
        if isinstance(f, Carrier):
            raise RuleError(
                f"the rule of {callable_name(f)} is part of that object and cannot be removed. Use the plain function"
            )
        with self._lock:
            for target in rule.targets:
                if self._find(target) is rule:
                    self._journal.put(self._rules, key_of(target), None)
            self._changed()

    def accumulate(self, f: Callable[..., Any], arg: int, accumulator: Accumulator) -> None:
        """Let `accumulator` add to the cotangent of argument `arg` of `f` in place, as `@accumulates` declares."""
        rule, where = self._find(f) or self[f], place(accumulator.add)
        old = rule.accumulators.get(arg)
        if old is not None and place(old.add) != where:
            raise DuplicateRuleError(
                f"{callable_name(f)} already accumulates argument {arg} at {place(old.add)}; the second is at {where}. "
                "Remove one of them"
            )
        with self._lock:
            self._journal.put(rule.accumulators, arg, accumulator)
            self._changed()

    def push_by(self, f: Callable[..., Any], pushforward: Pushforward) -> None:
        """Let `pushforward` push tangents through calls of `f`, as `@jvp_rule` and `linear` declare."""
        rule, where = self._find(f) or self[f], place(pushforward.function)
        old = rule.forward
        if old is not None and place(old.function) != where:
            raise DuplicateRuleError(
                f"{callable_name(f)} already has a pushforward at {place(old.function)}; the second is at {where}. "
                "Remove one of them"
            )
        with self._lock:
            self._journal.put(rule.pushforwards, "push", pushforward)
            self._changed()

    def batch(self, targets: tuple[Any, ...], body: Callable[..., Any]) -> None:
        """Let `body` be the batching rule of the functions `targets`, as `@batching` declares."""
        if self._loader != threading.get_ident():
            import_module("wengert.rulebook.batched")  # so that our own rules come first, as in `_load_before`
        self._load_before(targets)
        with self._lock:
            for f in targets:
                self._put(self._batching, f, body, "a batching rule")

    def batching_of(self, f: Any) -> Callable[..., Any] | None:
        """Return the batching rule of the function `f`, or None."""
        self.load()
        return self._batching.get(key_of(f))

    def stand_in(self, targets: tuple[Any, ...], standin: Callable[..., Any]) -> None:
        """Let `standin` run, recorded, in place of the functions `targets`, as `@stands_for` declares."""
        self._load_before(targets)
        with self._lock:
            for f in targets:
                self._put(self._standins, f, standin, "a stand-in")
            self._changed()

    def has_nothing_for(self, f: types.FunctionType) -> bool:
        """Whether no rule and no stand-in is declared for the function `f`, and no rules wait to be loaded."""
        is_loaded = self._plugins is None or self._plugins.done
        return is_loaded and not (self._companions.are_due() or f in self._rules or f in self._standins)

    def standin_of(self, f: Any) -> Callable[..., Any] | None:
        """Return the stand-in of the function `f`, or None."""
        self.load()
        return self._standins.get(key_of(f))

    def compile_by(self, targets: tuple[Any, ...], standin: Callable[..., Any]) -> None:
        """Let `standin` run in place of the functions `targets` in compiled functions, as `@compiled_by` declares."""
        if self._loader != threading.get_ident():
            import_module("wengert.compiling.watched.call_hooks")  # so that our own come first, as in `batch`
        self._load_before(targets)
        with self._lock:
            for f in targets:
                self._put(self._compiled, f, standin, "a compiled form")
            self._changed()

    def compiled_form_of(self, f: Any) -> Callable[..., Any] | None:
        """Return what runs in place of the function `f` in compiled functions, or None."""
        self.load()
        return self._compiled.get(key_of(f))

    def _put(self, table: dict[Any, Callable[..., Any]], f: Any, made: Callable[..., Any], kind: str) -> None:
        """Put what was declared for a function into a table. Errors: DuplicateRuleError."""
        old = table.get(key_of(f))
        if old is not None and place(old) != place(made):
            raise DuplicateRuleError(f"{callable_name(f)} already has {kind}, at {place(old)}. Remove one")
        self._journal.put(table, key_of(f), made)

    def declare_lastingly(self, declare: Callable[[], object]) -> None:
        """Call `declare`, by which a module that is imported late declares its own rules: no open scope undoes them."""
        self._journal.apart(declare)

    @contextmanager
    def scope(self) -> Iterator[Registry]:
        """Undo this thread's changes at the end of the `with` block; until then, all threads see them."""
        self.load()
        with self._undone(lambda error: True):
            yield self

    @contextmanager
    def _undone(self, when: Callable[[BaseException | None], bool]) -> Iterator[None]:
        """Undo this thread's changes at the end of the block if `when(error)`."""
        changes: list[Any] = []
        try:
            with self._journal.block(when) as changes:
                yield
        finally:
            if changes:
                self._changed()

    def _find(self, f: Any) -> Rule | None:
        rule = self._rules.get(key_of(f))
        return f.own_rule if rule is None and issubclass(type(f), Carrier) else rule

    def ready(self, make: Callable[[], Any]) -> None:
        """Load all rules and call `make`, unless that is done under the present rules.

        Each trace needs this if `made[make]` is not the number of imported modules.
        """
        self.load()
        made = self.made
        if make not in made:
            make()
        made[make] = len(sys.modules)

    def once(self, make: Callable[[], T]) -> T:
        """Return `make()`, cached until a rule changes."""
        made = self.made
        if make not in made:
            made[make] = make()
        found: T = made[make]
        return found

    def _changed(self) -> None:
        self.version += 1
        self.made = {}  # a new dict: a `make` that is running has read the old rules and fills the old dict
        if self._loader != threading.get_ident():
            self._call_watchers()

    def _call_watchers(self) -> None:
        for watcher in self.watchers:
            watcher()

    @by_hand
    def rrule(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Pullback]:
        """Return the value of `f(*args, **kwargs)` and its pullback, from the rule of `f`, whatever its form.

        The pullback returns one cotangent (or None) for each positional argument. A keyword argument counts as
        positional if the rule has it as a positional parameter.
        """
        return rrule(self[f], f, args, kwargs)


def _on_error(error: BaseException | None) -> bool:
    return error is not None


rules = Registry("wengert.rules")
rules.when_imported("numpy", "wengert_rules")
