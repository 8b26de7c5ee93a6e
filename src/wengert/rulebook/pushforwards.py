"""Push tangents through a call: from the tangents of its arguments to the tangent of its result.

A tangent ẋ has the shape of its primal, and is real if that is. A declared pushforward or partials are used first;
without either, the pullback is transposed: Re⟨x̄, ẋ⟩ = Re⟨ȳ, ẏ⟩.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from wengert.errors import RuleError, WengertError
from wengert.rulebook.interface import AnyPushforward, AnyRule
from wengert.rulebook.keeping import CONTRACTIONS, contracted_kept
from wengert.values.cotangents import AbstractTangent, KnownInPart, force, is_zero
from wengert.values.lazy_attribute import imported_when_read
from wengert.values.named_tuples import NamedTuple
from wengert.values.projection import project
from wengert.values.results import LeafForm, cotangent, form_of, is_flat, with_leaves
from wengert.values.specs import Spec, is_complex, is_inexact, spec_of
from wengert.values.trees import is_container

ENTERED = "Pushforwards compute with it, also on values that an outer derivative watches."

Args = tuple[Any, ...]
Caller = Callable[..., Any]
FORMS = {np.ndarray, float, np.float64}  # types of most tangents, which need no conversion


class ReverseMode:
    """A slot for reverse mode, which transposes pullbacks. Reverse mode imports the rules, so it is imported when used.

    `gradients(call, f, args)` returns the gradients of f's real result, in JAX's convention for complex arguments.
    """

    gradients: Callable[[Caller, Callable[..., Any], Args], Sequence[Any]] = imported_when_read(
        "wengert.api.gradient", "gradients_to_transpose"
    )


class Batches:
    """A slot for calls on batches: the batching rules are loaded with these, so it is imported when used."""

    batched: Callable[..., Any] = imported_when_read("wengert.rulebook.batched", "batched")


def push(
    call: Caller, fn: Callable[..., Any], rule: AnyRule, y: Any, args: Args, kwargs: Mapping[str, Any] | None,
    tangents: Args, size: int | None = None, keeps: bool = False,
) -> Any:  # fmt: skip
    """Return the tangent of y = `fn(*args, **kwargs)`, from the `tangents` of `args`; None if it is certainly zero.

    `call(f, *args)` runs each piece of the arithmetic. `args` are normalised; they are Specs or None where the `rule`
    reads no values. A tangent of None is zero; a sequence has a tuple of tangents. With `size`, each tangent and the
    result have a leading axis of that length, for several directions. With `keeps`, a product with a factor of zero is
    zero, even if the other factor is infinite or nan.
    """
    if rule.kind == "constant":
        return None
    if tangents and type(tangents[0]) is KnownInPart and _is_linear_in_first(rule, tangents):
        return tangents[0].through(
            lambda tangent: push(call, fn, rule, y, args, kwargs, (tangent, *tangents[1:]), size, keeps)
        )
    kwargs = {name: value for name, value in kwargs.items() if name != "out"} if kwargs else {}
    flat, given = (args, tangents) if rule.sequence is None else (rule.splat(args), _splat(rule, args, tangents))
    plan = rule.plan(len(flat), tuple(kwargs))
    primals, static = plan.bind(flat, kwargs) if plan.static else (flat, kwargs)
    given = tuple(
        [tangent if tangent is None or type(tangent) in FORMS else force(tangent) for tangent in given[: len(primals)]]
    )
    if all([tangent is None for tangent in given]):
        return None
    pushed = _Pushed(call, fn, rule, y, args, kwargs, flat, primals, static, keeps)
    return pushed.along(given) if size is None else pushed.along_all(given, size)


def _is_linear_in_first(rule: AnyRule, tangents: Args) -> bool:
    return (
        rule.forward is not None
        and rule.forward.kind == "linear"
        and all([tangent is None for tangent in tangents[1:]])
    )


def _splat(rule: AnyRule, args: Args, tangents: Args) -> Args:
    """Return the tangents as the rule takes the arguments, with those of a sequence's items one by one."""
    k = rule.sequence
    if k is None or rule.is_single(args[k]):
        return tangents
    return (*tangents[:k], *(tangents[k] if tangents[k] is not None else (None,) * len(args[k])), *tangents[k + 1 :])


class _Pushed(NamedTuple):
    """A call of a function with a rule, through which tangents are pushed.

    `flat` are the arguments `args` with the items of a sequence one by one, `primals` the differentiable ones among
    these, and `static` the other arguments by name.
    """

    call: Caller
    fn: Callable[..., Any]
    rule: AnyRule
    y: Any
    args: Args
    kwargs: dict[str, Any]
    flat: Args
    primals: Args
    static: Mapping[str, Any]
    keeps: bool

    def along(self, tangents: Args) -> Any:
        """Return ẏ in one direction."""
        forward = self.rule.forward
        if forward is None:
            made = self.by_partials(tangents) if self.rule.kind == "partials" else self.by_transpose(tangents)
        elif forward.kind == "declared":
            made = self.declared(forward, tangents)
        else:
            made = self.total([self.called(forward, term) for term, _ in self.terms(forward, tangents)])
        return fitted(self.call, made, self.y)

    def along_all(self, tangents: Args, size: int) -> Any:
        """Return ẏ in `size` directions: at once if the pushforward broadcasts or calls `fn`, else in a loop."""
        forward = self.rule.forward
        is_sum = self.keeps and any([self.fn is f for f in CONTRACTIONS])
        if forward is not None and forward.kind != "declared" and not is_sum:
            made = self.total([self.called(forward, *term, size) for term in self.terms(forward, tangents)])
        elif not is_sum and (self.rule.kind == "partials" if forward is None else forward.broadcasts):
            ndims = {spec.ndim for spec in _result_parts(self.y).specs.values()}
            ndim = ndims.pop() if len(ndims) == 1 else 0
            stacks = tuple([None if x_dot is None else aligned(self.call, x_dot, ndim) for x_dot in tangents])
            if forward is None:
                made = self.by_partials(stacks)
            else:
                made = self.declared(forward, stacks)
        else:
            rows = [self.along(row_of(self.call, tangents, k)) for k in range(size)]
            return None if rows[0] is None else _stack(self.call, rows)
        return fitted(self.call, made, self.y, size)

    def by_partials(self, tangents: Args) -> Any:
        """Return ẏ = Σ pₖ ẋₖ."""
        pushing = self.rule.pushing(tuple([tangent is not None for tangent in tangents]), self.keeps)
        return self.call(pushing, tangents, self.y, *self.primals, **self.static)

    def declared(self, forward: AnyPushforward, tangents: Args) -> Any:
        """Return ẏ from the declared function."""
        action = forward.keeping if self.keeps else forward.action
        return self.call(action, tangents, self.y, *self.primals, **self.static)

    def by_transpose(self, tangents: Args) -> Any:
        """Return ẏ from the transpose of the rule's pullback."""
        if self.rule.kind == "rrule":
            raise RuleError(
                f"{self.rule.primitive}: the pullback of its rule ({self.rule.where}) is not known here. "
                f"Declare a pushforward: @wg.jvp_rule({self.rule.primitive})"
            )
        wanted = tuple([tangent is not None for tangent in tangents])
        back = self.rule.keeping(wanted) if self.keeps else self.rule.variant(wanted).call

        def pullback(y_bar: Any) -> Any:
            return back(y_bar, self.y, *self.primals, **self.static)

        return transposed(self.call, self.rule, pullback, self.y, self.primals, tangents)

    def terms(self, forward: AnyPushforward, tangents: Args) -> list[tuple[Args, tuple[bool, ...]]]:
        """Return the calls whose sum is ẏ: for each its arguments, and a flag for each argument that is a tangent.

        A linear function has one call, on all tangents; a multilinear one has a call for each tangent.
        """
        rest = len(self.flat) - len(tangents)
        if forward.kind == "linear" and len(tangents) == 1:
            return [((tangents[0], *self.flat[1:]), (True, *(False,) * rest))]
        given = [tangent is not None for tangent in tangents]
        if forward.kind == "linear":
            places = range(len(tangents)) if forward.args is None else forward.args
            front = [
                tangent if tangent is not None else _zeros_like_primal(x) if k in places else x
                for k, (tangent, x) in enumerate(zip(tangents, self.flat, strict=False))
            ]
            return [((*front, *self.flat[len(tangents) :]), (*given, *[False] * rest))]
        alone = [tuple([i == k for i in range(len(self.flat))]) for k in range(len(tangents))]
        return [
            ((*self.flat[:k], tangent, *self.flat[k + 1 :]), alone[k])
            for k, tangent in enumerate(tangents)
            if tangent is not None
        ]

    def called(self, forward: AnyPushforward, term: Args, moved: tuple[bool, ...] = (), size: int | None = None) -> Any:
        """Call the function on the arguments `term`; with `size`, those flagged in `moved` are stacks of directions."""
        fn, static = self.fn, self.kwargs
        if forward.without and static:
            static = {name: value for name, value in static.items() if name not in forward.without}
        if self.rule.sequence is not None:
            term = _joined(self.rule, term, self.args)
        if size is not None:
            return Batches.batched(self.call, fn, term, static, _joined(self.rule, moved, self.args), size, quiet=True)
        if getattr(fn, "__objclass__", None) in (np.ndarray, np.generic):  # a tangent may be of the other class
            fn, term = getattr(np.ndarray, fn.__name__), (self.call(np.asarray, term[0]), *term[1:])
        if self.keeps and any([fn is f for f in CONTRACTIONS]):
            return self.call(contracted_kept, fn, *term, **static)
        return self.call(fn, *term, **static)

    def total(self, terms: list[Any]) -> Any:
        """Return the sum of the values of all terms."""
        return terms[0] if len(terms) == 1 else self.call(_sum, *terms)


def _joined(rule: AnyRule, flat: Args, args: Args) -> Args:
    """Undo `rule.splat`: return the values `flat` in the form of `args`, with those of a sequence in a tuple."""
    k = rule.sequence
    if k is None or rule.is_single(args[k]):
        return flat
    n = len(args[k])
    return (*flat[:k], tuple(flat[k : k + n]), *flat[k + n :])


def _zeros_like_primal(x: Any) -> Any:
    """Return zeros with the shape and dtype of an argument without tangent."""
    return np.zeros(np.shape(x), x.dtype if isinstance(x, (np.ndarray, Spec)) else float)


def _sum(*terms: Any) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def aligned(call: Caller, tangent: Any, ndim: int) -> Any:
    """Return a stack of tangents that broadcasts against a result of `ndim` axes."""
    return tangent if np.ndim(tangent) == ndim + 1 else call(_aligned, tangent, ndim)


def _aligned(tangent: Any, ndim: int) -> Any:
    """Insert axes after the first, so that a stack of tangents broadcasts against a result of `ndim` axes."""
    shape = np.shape(tangent)
    return np.reshape(tangent, (shape[0], *(1,) * (ndim + 1 - len(shape)), *shape[1:]))


def row_of(call: Caller, tangents: Args, k: int) -> Args:
    """Return the tangents in direction `k`."""
    rows: list[Any] = []
    for tangent in tangents:
        is_sequence = type(tangent) is tuple
        rows.append(
            None if tangent is None else row_of(call, tangent, k) if is_sequence else call(operator.getitem, tangent, k)
        )
    return tuple(rows)


def _stack(call: Caller, made: Sequence[Any]) -> Any:
    """Stack the tangents of all directions along a new first axis."""
    if isinstance(made[0], tuple):
        return tuple([None if part[0] is None else _stack(call, part) for part in zip(*made, strict=True)])
    return call(np.stack, [*made])


# Transposes


def transposed(
    call: Caller, rule: AnyRule, pullback: Callable[[Any], Sequence[Any]], y: Any, primals: Args, tangents: Args
) -> Any:
    """Return ẏ from the transpose of a linear `pullback` of `rule`: its derivative at ȳ = 0, by reverse mode.

    `primals` and `tangents` match the cotangents that the pullback returns; only the Specs of the primals are read.

    Errors: RuleError if the pullback cannot be traced.
    """
    parts = _result_parts(y)
    specs = [None if tangent is None else spec_of(x) for x, tangent in zip(primals, tangents, strict=False)]

    def paired(*cotangents: Any) -> Any:
        """Return Re⟨x̄, ẋ⟩ for the cotangents of the parts of y."""
        y_bar = (
            cotangents[0]
            if parts.form is None
            else rule.result_bar(dict(zip(parts.specs, cotangents, strict=True)), parts.form)
        )
        total = 0.0
        for x_bar, spec, tangent in zip(pullback(y_bar), specs, tangents, strict=False):
            if spec is not None and x_bar is not None and not is_zero(x_bar):
                total = total + _inner(project(x_bar, spec, rule.broadcasts), tangent)
        return total

    if not parts.specs:
        return None
    try:
        slopes = ReverseMode.gradients(call, paired, tuple([_zeros(spec) for spec in parts.specs.values()]))
    except WengertError as error:
        raise RuleError(
            f"{rule.primitive} has no pushforward: the pullback of its rule ({rule.where}) cannot be transposed. "
            f"Declare one: decorate `(tangents, y, *args) -> ẏ` with @wg.jvp_rule({rule.primitive}). "
            f"The reason:\n{error}"
        ) from error
    return parts.joined([call(np.conj, slope) if is_complex(slope) else slope for slope in slopes])


class _Parts(NamedTuple):
    """The inexact parts of a result: its form (None for one number or array), and a Spec for each part."""

    form: Any
    specs: dict[Any, Spec]

    def joined(self, tangents: Sequence[Any]) -> Any:
        """Return the tangent of the result, from those of its parts."""
        if self.form is None:
            return tangents[0] if tangents else None
        found = dict(zip(self.specs, tangents, strict=True))
        if is_flat(self.form):
            return tuple([found.get(k) for k in range(len(self.form))])
        return cotangent(self.form, found, False)


def _result_parts(y: Any) -> _Parts:
    if not (isinstance(y, tuple) or is_container(y)):
        return _Parts(None, {None: spec_of(y)} if is_inexact(y) or isinstance(y, Spec) else {})
    found: dict[Any, Spec] = {}
    if is_flat(y):
        found = {k: spec_of(part) for k, part in enumerate(y) if is_inexact(part) or isinstance(part, Spec)}
        return _Parts(y, found)
    form = form_of(y)

    def note(part: Any) -> Any:
        if type(part) is LeafForm:
            found[part.key] = part.spec
        return part

    with_leaves(form, lambda _, leaf: leaf, note)
    return _Parts(form, found)


def _zeros(spec: Spec) -> Any:
    if spec.shape or issubclass(spec.pytype, np.ndarray):
        return np.zeros(spec.shape, spec.dtype)
    made: Any = spec.pytype
    return made(0)


def _inner(x_bar: Any, tangent: Any) -> Any:
    """Return Re Σ x̄* ẋ."""
    product = (np.conj(x_bar) if is_complex(x_bar) else x_bar) * tangent
    total = np.sum(product)
    return np.real(total) if is_complex(total) else total


# The form of a tangent


def fitted(call: Caller, y_dot: Any, y: Any, size: int | None = None) -> Any:
    """Convert the tangent `y_dot` to the shape and realness of the result `y`; with `size`, keep the leading axis."""
    usual = size is None and type(y_dot) in FORMS and type(y) in FORMS
    if usual and (type(y_dot) is not np.ndarray is not type(y)):
        return y_dot
    if usual and type(y_dot) is type(y) and y_dot.shape == y.shape and y_dot.dtype == y.dtype:
        return y_dot
    if isinstance(y_dot, tuple):
        return tuple([None if y_dot[k] is None else fitted(call, y_dot[k], y[k], size) for k in range(len(y_dot))])
    if y_dot is None or isinstance(y_dot, AbstractTangent) or (is_container(y) and not isinstance(y, tuple)):
        return y_dot
    spec = spec_of(y)
    if spec.dtype.kind not in "fc":
        return None
    if size is not None:
        spec = Spec((size, *spec.shape), spec.dtype)
    if type(y_dot) is np.ndarray and y_dot.shape == spec.shape and y_dot.dtype == spec.dtype and spec.shape:
        return y_dot
    return call(_fitted, y_dot, spec)


def _fitted(y_dot: Any, spec: Spec) -> Any:
    return project(y_dot if np.shape(y_dot) == spec.shape else np.broadcast_to(y_dot, spec.shape), spec, False)
