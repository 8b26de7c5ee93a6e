"""A derivative rule, and the binding of a call's arguments to its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.errors import NoRuleError, RuleError
from wengert.rulebook import forward_steps, keeping, showing, steps
from wengert.rulebook.purity import TESTED
from wengert.rulebook.rule_variants import RuleBody, Variant
from wengert.rulebook.runtime import apart, given_own
from wengert.values.callables import callable_name, named_parameters, unwrapped
from wengert.values.lazy_attribute import computed_once
from wengert.values.named_tuples import NamedTuple
from wengert.values.results import cotangent, is_flat
from wengert.values.specs import Spec

__all__ = ["Accumulator", "ArgumentPlan", "Carrier", "Rule", "Variant"]

MOST_ARGUMENTS = 256  # plans and variants for longer calls are not cached: each length would add an entry

Args = tuple[Any, ...]


class Accumulator(NamedTuple):
    """A function that adds the cotangent of one argument in place: `add(x_bar, y_bar, y, *args) -> x_bar`.

    `scatters`: most elements of a contribution are zero, so that the first one too is added in place, to zeros.
    `above` is the smallest number of elements of x̄ for which it is called.
    """

    add: Callable[..., Any]
    scatters: bool
    above: int

    @property
    def action(self) -> Callable[..., Any]:
        """`add`, called with a copy of ȳ if it may write into ȳ."""
        return self.add if _is_tested(self.add) else given_own(self.add, 1)


def _is_tested(function: Callable[..., Any]) -> bool:
    return (getattr(function, "__module__", None) or "").startswith(TESTED)


class Pushforward:
    """The way a rule pushes tangents: `kind` is "declared", "linear" or "multilinear".

    A declared one calls `function(tangents, y, *args, **static) -> ẏ`; the others call the primitive itself. A linear
    primitive is linear in the arguments `args` (None means all); its static arguments `without` only add a constant.
    `broadcasts`: the function takes several directions at once, along a leading axis of the tangents.
    """

    def __init__(
        self,
        kind: str,
        function: Callable[..., Any],
        args: tuple[int, ...] | None = None,
        without: tuple[str, ...] = (),
        broadcasts: bool = False,
    ) -> None:
        self.kind, self.function, self.broadcasts = kind, function, broadcasts
        self.args, self.without = args, without

    @computed_once
    def body(self) -> RuleBody:
        """The analysis of the source of `function`."""
        return RuleBody(self.function, "pullback")

    @computed_once
    def action(self) -> Callable[..., Any]:
        """`function`, with copies of the tangents and of its result if it may write into them."""
        return self.function if _is_tested(self.function) or self.body.computes else apart(self.function)

    @computed_once
    def keeping(self) -> Callable[..., Any]:
        """`action` with products in which a tangent of zero stays zero."""
        kept = keeping.keeping(self.function, (next(iter(inspect.signature(self.function).parameters)),))
        return kept if self.action is self.function else apart(kept)

    def reads(self, count: int) -> tuple[tuple[str, ...], str]:
        """Return what it reads of each of `count` arguments, and of the result: "value", "shape" or "nothing"."""
        if self.kind == "declared":
            variant = self.body.variant((True,) * count)
            return variant.reads, variant.reads_y
        linear_in = range(count) if self.args is None else self.args
        beside = "value" if self.kind == "multilinear" else "shape"
        return tuple([beside if k in linear_in else "value" for k in range(count)]), "shape"


class Rule:
    """The derivative rule of one primitive, under all its names (`targets`).

    `kind` is "partials", "pullback", "rrule" or "constant", `body` the decorated function, `where` its file:line.
    The other options are those of the decorators in `declare.py`.
    """

    def __init__(
        self, name: str, targets: Sequence[Callable[..., Any]], kind: str, body: Callable[..., Any] | None,
        where: str, *, broadcasts: bool = False, view: bool = False, identity: bool = False,
        sequence: int | None = None, parts: bool = False, names: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.kind, self.body, self.where = name, kind, body, where
        self.targets = tuple(map(unwrapped, targets))
        self.broadcasts, self.view, self.identity, self.sequence = broadcasts, view, identity, sequence
        self.parts, self.names = parts, dict(names or {})
        self.accumulators: dict[int, Accumulator] = {}
        self.pushforwards: dict[str, Pushforward] = {}  # one at most, under "push"
        self._pushing: dict[tuple[bool, ...], Callable[..., Any]] = {}
        self._pushing_kept: dict[tuple[bool, ...], Callable[..., Any]] = {}
        self.analysis = RuleBody(body, kind) if body is not None else None
        self._plans: dict[tuple[int, tuple[str, ...]], ArgumentPlan] = {}
        self._variants: dict[tuple[bool, ...], Variant] = {}
        self._keeping: dict[tuple[bool, ...], Callable[..., tuple[Any, ...]]] = {}
        self._steps: dict[tuple[bool, ...], Callable[[Any, Any, Any], None]] = {}
        self._passes: dict[int, bool] = {}

    def __repr__(self) -> str:
        return f"<{self.kind} rule {self.name} of {self.primitive}, {self.where}>"

    def __str__(self) -> str:
        return showing.rule_text(self)

    def __rich__(self) -> Any:
        return showing.rich_rule(self)

    def show(self) -> None:
        """Print the rule with its source and a sample, in colour where the output is a terminal."""
        showing.show_rule(self)

    def __reduce__(self) -> Any:
        options = {name: getattr(self, name) for name in _OPTIONS}
        given = self.name, self.targets, self.kind, self.body, self.where
        return _rule_from_pickle, (given, options, self.accumulators, self.pushforwards)

    @property
    def primitive(self) -> str:
        """The primitive's name, for messages."""
        return callable_name(self.targets[0])

    def normalise(self, args: Args, kwargs: Mapping[str, Any] | None) -> tuple[Args, dict[str, Any]]:
        """Return the `(args, kwargs)` of a call with each differentiable argument by position.

        Errors: NoRuleError if an argument before one given by name is missing.
        """
        last = len(args) if self.sequence is None else self.sequence + 1
        if self.analysis is None or (not kwargs and len(args) <= last):
            return args, dict(kwargs or {})
        given = {name: value for name, value in (kwargs or {}).items() if value is not np._NoValue}
        kwargs = {self._parameter(name): value for name, value in given.items()}
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

    def plan(self, nargs: int, kwnames: tuple[str, ...] = ()) -> ArgumentPlan:
        """Return the ArgumentPlan for normalised calls with `nargs` positional arguments, splatted, and `kwnames`."""
        key = (nargs, kwnames)
        found = self._plans.get(key)
        if found is None:
            found = ArgumentPlan(self, nargs, kwnames)
            if nargs <= MOST_ARGUMENTS:
                self._plans[key] = found
        return found

    def variant(self, wanted: tuple[bool, ...]) -> Variant:
        """Return the Variant that computes cotangents for the arguments flagged in `wanted`."""
        found = self._variants.get(wanted)
        if found is None:
            if self.kind == "rrule" or self.analysis is None:
                raise RuleError(f"{self!r} declares neither partials nor a pullback, so call the rule itself")
            found = self.analysis.variant(wanted)
            if len(wanted) <= MOST_ARGUMENTS:
                self._variants[wanted] = found
        return found

    def keeping(self, wanted: tuple[bool, ...]) -> Callable[..., tuple[Any, ...]]:
        """Return the call of the Variant for `wanted`, with products in which a cotangent of zero stays zero."""
        found = self._keeping.get(wanted)
        if found is None:
            assert self.analysis is not None
            found = self._keeping[wanted] = self.analysis.variant(wanted, keeps=True).call
        return found

    @property
    def forward(self) -> Pushforward | None:
        """The Pushforward declared for this rule, or None."""
        return self.pushforwards.get("push")

    def forward_reads(self, count: int) -> tuple[tuple[str, ...], str] | None:
        """Return what the pushforward reads; None if no more than the pullback, as tests check for our own rules."""
        forward = self.forward
        return None if forward is None or (self.body and _is_tested(self.body)) else forward.reads(count)

    def pushing(self, wanted: tuple[bool, ...], keeps: bool = False) -> Callable[..., Any]:
        """Return the function `(tangents, y, *args) -> ẏ` of a rule that states partials, for the `wanted` arguments.

        With `keeps`, a tangent of zero stays zero in products.
        """
        known = self._pushing_kept if keeps else self._pushing
        found = known.get(wanted)
        if found is None:
            assert self.analysis is not None
            found = self.analysis.pushing(wanted, keeps)
            if len(wanted) <= MOST_ARGUMENTS:
                known[wanted] = found
        return found

    def forward_step(
        self, wanted: tuple[bool, ...], pushing: Callable[[tuple[bool, ...]], Callable[..., Any]] | None = None
    ) -> Callable[[Any, Any], Any]:
        """Return the forward step of a call on one or two floats, `step(entry, tangents)`; `tangents` are by slot.

        `pushing` returns the general function for unusual tangents, by default that of the rule.
        """
        assert self.analysis is not None
        return forward_steps.forward_step(self.analysis, wanted, pushing or self.pushing)

    def passes_on(self, k: int) -> bool:
        """Whether the cotangent of argument `k` certainly is ȳ itself."""
        found = self._passes.get(k)
        if found is None:
            known = self.analysis if self.kind in ("partials", "pullback") else None
            found = self._passes[k] = known is not None and k < len(known.names) and known.passes_on(k)
        return found

    def scalar_step(self, wanted: tuple[bool, ...]) -> Callable[[Any, Any, Any], None]:
        """Return the reverse step of a call on floats, `step(g, entry, cotangents)`, made once for each wanted set."""
        found = self._steps.get(wanted)
        if found is None:
            if self.kind != "partials" or self.analysis is None:
                raise RuleError(f"{self!r} has no scalar step, because it declares no partials")
            found = self._steps[wanted] = steps.scalar_step(self.analysis, wanted)
        return found

    def cotangents(self, cotangents: Any, args: Args) -> Args:
        """Check what the pullback of an rrule returned, and return one cotangent for each argument of the call.

        Those of parameters that the call left at their defaults are dropped.
        """
        assert self.analysis is not None
        whole = len(args) == 1 and isinstance(args[0], tuple)  # its cotangent is itself a tuple
        if not isinstance(cotangents, (tuple, list)) or (whole and len(cotangents) != 1):
            cotangents = (cotangents,)
        if not len(args) <= len(cotangents) <= max(len(args), len(self.analysis.names)):
            raise RuleError(
                f"the pullback of {self.primitive} ({self.where}) returned {len(cotangents)} cotangents for "
                f"{len(args)} arguments. Return one for each, or None for an argument without derivative."
            )
        return tuple(cotangents[: len(args)])

    def splat(self, args: Args) -> Args:
        """Return the arguments as the rule takes them, with the items of the sequence one by one."""
        k = self.sequence
        return args if k is None or self.is_single(args[k]) else (*args[:k], *args[k], *args[k + 1 :])

    def gather(self, cotangents: Sequence[Any], args: Args) -> Args:
        """Undo `splat` for cotangents: return one for each argument of the call, a list for a sequence."""
        k = self.sequence
        if k is not None and not self.is_single(args[k]):
            n = len(args[k])
            inner: Any = list(cotangents[k : k + n])
            if isinstance(args[k], np.ndarray):  # the sequence is the rows of an array
                inner = np.stack(inner) if all(x is not None for x in inner) else None
            cotangents = (*cotangents[:k], inner, *cotangents[k + n :])
        return (*cotangents, *[None] * (len(args) - len(cotangents)))

    def result_bar(self, y_bar: Mapping[Any, Any], y: Any) -> Any:
        """Return the cotangent of a result of several leaves, from a dict `y_bar` of those used; the others are zero.

        With `parts`, the others are None. `y` is a flat tuple, or the form of another container.
        """
        if not is_flat(y):
            return cotangent(y, y_bar, not self.parts)
        cotangents = [y_bar.get(i) for i in range(len(y))]
        if self.parts:
            return tuple(cotangents)
        filled = [
            _zero_like(part) if cotangent is None else cotangent for part, cotangent in zip(y, cotangents, strict=True)
        ]
        return tuple.__new__(type(y), filled)

    def is_single(self, value: Any) -> bool:
        """Whether the argument for the rule's sequence is a single array or number, as in `np.asarray(x)`."""
        return self.identity and not isinstance(value, (list, tuple))

    def _parameter(self, name: str) -> str:
        """Return the rule's parameter for the keyword argument `name` of a call."""
        assert self.analysis is not None
        known = self.analysis
        if name in known.names or name in known.static or name in self.names:
            return self.names.get(name, name)
        return self._foreign_names.get(name, name)

    @computed_once
    def _foreign_names(self) -> dict[str, str]:
        """The rule's parameters by the names in its targets' signatures, if all known signatures agree."""
        assert self.analysis is not None
        own = [*self.analysis.names]
        if self.sequence is not None:
            own.append(str(self.analysis.variadic))
        if self.sequence is not None or not self.analysis.variadic:
            own += self.analysis.static
        found: dict[str, set[str]] = {}
        for f in self.targets:
            for name, parameter in zip(named_parameters(f), own, strict=False):
                found.setdefault(name, set()).add(parameter)
        return {name: parameters.pop() for name, parameters in found.items() if len(parameters) == 1}

    def _after_sequence(self, args: Args, kwargs: dict[str, Any]) -> tuple[Args, dict[str, Any]]:
        """Turn positional arguments after the sequence into keyword arguments: splatted items would shift them."""
        assert self.analysis is not None
        assert self.sequence is not None
        k, variadic, static = self.sequence, self.analysis.variadic, self.analysis.static
        for name in self.analysis.names[len(args) : k]:
            args = (*args, kwargs.pop(name)) if name in kwargs else args
        if len(args) == k and variadic in kwargs:
            args = (*args, kwargs.pop(variadic))
        extra = args[k + 1 :]
        if len(extra) > len(static):
            raise NoRuleError(
                f"{self.primitive}: {len(args)} positional arguments are too many ({self._declares()}). "
                "Pass fewer, or declare more in the rule"
            )
        return args[: k + 1], kwargs | dict(zip(static, extra, strict=False))

    def _declares(self) -> str:
        assert self.analysis is not None
        variadic = [f"*{self.analysis.variadic}"] if self.analysis.variadic else []
        declared = ", ".join([*self.analysis.names, *variadic, *self.analysis.static])
        return f"the rule at {self.where} declares {declared}"


_OPTIONS = "broadcasts", "view", "identity", "sequence", "parts", "names"


def _rule_from_pickle(given: Args, options: dict[str, Any], accumulators: Any, pushforwards: Any) -> Rule:
    """Rebuild a rule from its pickle."""
    made = Rule(*given, **options)
    made.accumulators, made.pushforwards = accumulators, pushforwards
    return made


def _zero_like(part: Any) -> Any:
    return np.zeros(part.shape, part.dtype) if isinstance(part, (np.ndarray, Spec)) else 0.0


class Carrier:
    """A callable that has its own rule (`own_rule`) and is in no registry, so that both are freed together."""

    @property
    def own_rule(self) -> Rule:
        raise NotImplementedError


class ArgumentPlan:
    """The binding of one form of call to a rule's parameters: the first arguments are differentiable, others static."""

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
                    "Add it to the rule as a keyword-only parameter, after `*`, and use it there"
                )
        count = nargs if analysis.variadic else min(nargs, len(analysis.names))
        self.positions = tuple(range(count))
        self.static = analysis.static[: nargs - count]
        if len(self.static) < nargs - count:
            raise NoRuleError(
                f"{rule.primitive}: the rule does not know argument {count + len(self.static) + 1} "
                f"of {nargs} passed by position ({rule._declares()}). Add it to the rule"
            )

    def bind(self, args: Args, kwargs: Mapping[str, Any] | None = None) -> tuple[Args, dict[str, Any]]:
        """Return the differentiable arguments of a normalised, splatted call, and the static ones by name."""
        count = len(self.positions)
        static = dict(zip(self.static, args[count:], strict=False))
        return args[:count], static | dict(kwargs or {})

    def variant(self, wanted: tuple[bool, ...]) -> Variant:
        """Return the rule's Variant for `wanted`, a flag for each position."""
        return self.rule.variant(wanted)
