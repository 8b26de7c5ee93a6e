"""The pushforward of a call: the tangent of its result, from those of its arguments.

A tangent ẋ has the shape of its primal, and is real where that is. Partials and declarations are tried first; what has
neither is the transpose of the pullback: Re⟨x̄, ẋ⟩ = Re⟨ȳ, ẏ⟩.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import RuleError, WengertError
from wengert.rulebook.interface import AnyPushforward, AnyRule
from wengert.values.cotangents import AbstractTangent, force, is_zero
from wengert.values.projection import project
from wengert.values.results import LeafForm, cotangent, form_of, is_flat, with_leaves
from wengert.values.specs import Spec, is_complex, is_inexact, spec_of
from wengert.values.trees import is_container

ENTERED = "Pushforwards compute with it, also on values that an outer derivative watches."

Args = tuple[Any, ...]
Caller = Callable[..., Any]


class ReverseMode:
    """What transposes a pullback: reverse mode, which is built on the rules and so is entered here by what defines it.

    `gradients(call, f, args)` are those of f's real result, as JAX has them.
    """

    gradients: Callable[[Caller, Callable[..., Any], Args], Sequence[Any]]


def plainly(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a piece of a pushforward that no outer derivative watches: `fn(*args, **kwargs)`."""
    return fn(*args, **kwargs)


def push(
    call: Caller, fn: Callable[..., Any], rule: AnyRule, y: Any, args: Args, kwargs: Mapping[str, Any] | None,
    dots: Args, size: int | None = None,
) -> Any:  # fmt: skip
    """The tangent of y = `fn(*args, **kwargs)`, from the tangents `dots` of `args`; None where it is certainly zero.

    `call(f, *args)` runs each piece of the arithmetic. `args` are normalised, Specs or None where the `rule` reads no
    values. None stands for a tangent of zero, a sequence has a tuple of them. With `size` each tangent has a leading
    axis of that length, and so has the result: one for each direction.
    """
    kwargs = {name: value for name, value in (kwargs or {}).items() if name != "out"}
    flat, given = rule.splat(args), _splat(rule, args, dots)
    primals, static = rule.plan(len(flat), tuple(kwargs)).bind(flat, kwargs)
    given = given[: len(primals)]
    if rule.kind == "constant" or all([dot is None for dot in given]):
        return None
    if rule.forward is None and rule.kind == "partials":
        return _by_partials(call, rule, y, primals, static, given, size)
    if size is not None:
        return _stacked(call, [_part(given, k) for k in range(size)], _single(call, fn, rule, y, args, kwargs))
    return _single(call, fn, rule, y, args, kwargs)(given)


def _splat(rule: AnyRule, args: Args, dots: Args) -> Args:
    """The tangents as the rule takes the arguments: those of the items of the sequence one by one."""
    k = rule.sequence
    if k is None or rule.is_single(args[k]):
        return dots
    return (*dots[:k], *(dots[k] if dots[k] is not None else (None,) * len(args[k])), *dots[k + 1 :])


def _joined(rule: AnyRule, flat: Args, args: Args) -> Args:
    """The inverse of `rule.splat`: the arguments `flat` in the form of `args`."""
    k = rule.sequence
    if k is None or rule.is_single(args[k]):
        return flat
    n = len(args[k])
    return (*flat[:k], list(flat[k : k + n]), *flat[k + n :])


def _single(
    call: Caller, fn: Callable[..., Any], rule: AnyRule, y: Any, args: Args, kwargs: dict[str, Any]
) -> Callable[[Args], Any]:
    """The function of one tangent for each splatted argument that gives ẏ."""
    flat = rule.splat(args)
    primals, static = rule.plan(len(flat), tuple(kwargs)).bind(flat, kwargs)
    forward = rule.forward

    def pushed(dots: Args) -> Any:
        dots = tuple([force(dot) for dot in dots])
        if forward is None:
            return _transposed(call, rule, y, primals, static, dots)
        if forward.kind == "declared":
            return fitted(call, call(forward.function, dots, y, *primals, **static), y)
        return fitted(call, _by_calls(call, fn, rule, forward, args, kwargs, dots), y)

    return pushed


def _by_calls(
    call: Caller, fn: Callable[..., Any], rule: AnyRule, forward: AnyPushforward, args: Args, kwargs: dict[str, Any],
    dots: Args,
) -> Any:  # fmt: skip
    """ẏ of a function that is linear, or linear in each argument, by calls of it."""
    flat = rule.splat(args)
    static = {name: value for name, value in kwargs.items() if name not in forward.without}
    terms = [_joined(rule, term, args) for term in _terms(forward, flat, dots)]
    if getattr(fn, "__objclass__", None) in (np.ndarray, np.generic):  # which may be called on the other's tangents
        fn, terms = getattr(np.ndarray, fn.__name__), [(call(np.asarray, term[0]), *term[1:]) for term in terms]
    return call(_sum, *[call(fn, *term, **static) for term in terms])


def _terms(forward: AnyPushforward, flat: Args, dots: Args) -> list[Args]:
    """The arguments of the calls whose sum is ẏ: of all tangents together, or of each beside the other values."""
    if forward.kind == "linear":
        places = range(len(dots)) if forward.args is None else forward.args
        zeros = [_zero(x) if k in places and k < len(dots) else x for k, x in enumerate(flat)]
        return [tuple([dots[k] if k < len(dots) and dots[k] is not None else x for k, x in enumerate(zeros)])]
    return [(*flat[:k], dot, *flat[k + 1 :]) for k, dot in enumerate(dots) if dot is not None]


def _zero(x: Any) -> Any:
    """Zeros like an argument without tangent."""
    return np.zeros(np.shape(x), x.dtype if isinstance(x, (np.ndarray, Spec)) else float)


def _sum(*terms: Any) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


# Partials


def _by_partials(
    call: Caller, rule: AnyRule, y: Any, primals: Args, static: Mapping[str, Any], dots: Args, size: int | None
) -> Any:
    """ẏ = Σ pₖ ẋₖ, of all directions at once."""
    if size is not None:
        dots = tuple([None if dot is None else call(_aligned, dot, np.ndim(y)) for dot in dots])
    pushing = rule.pushing(tuple([dot is not None for dot in dots]))
    return fitted(call, call(pushing, dots, y, *primals, **static), y, size)


def _aligned(dot: Any, ndim: int) -> Any:
    """A stack of tangents whose further axes stand against those of a result of `ndim` axes."""
    shape = np.shape(dot)
    return np.reshape(dot, (shape[0], *(1,) * (ndim + 1 - len(shape)), *shape[1:]))


# Several directions


def _part(dots: Args, k: int) -> Args:
    """The tangents of one direction."""
    return tuple([None if dot is None else dot[k] for dot in dots])


def _stacked(call: Caller, parts: Sequence[Args], pushed: Callable[[Args], Any]) -> Any:
    """The results of all directions along a new first axis."""
    made = [pushed(part) for part in parts]
    return None if made[0] is None else _stack(call, made)


def _stack(call: Caller, made: Sequence[Any]) -> Any:
    if isinstance(made[0], tuple):
        return tuple([None if part[0] is None else _stack(call, part) for part in zip(*made, strict=True)])
    return call(np.stack, made)


# Transposes


def _transposed(call: Caller, rule: AnyRule, y: Any, primals: Args, static: Mapping[str, Any], dots: Args) -> Any:
    """ẏ by the transpose of the rule's pullback."""
    if rule.kind == "rrule":
        raise RuleError(f"the pullback of {rule.primitive} ({rule.where}) is made when its rule is called")
    variant = rule.variant(tuple([dot is not None for dot in dots]))
    return transposed(call, rule, lambda y_bar: variant.call(y_bar, y, *primals, **static), y, primals, dots)


def transposed(
    call: Caller, rule: AnyRule, pullback: Callable[[Any], Sequence[Any]], y: Any, primals: Args, dots: Args
) -> Any:
    """ẏ by the transpose of a `pullback` of `rule`, which is linear: its derivative at ȳ = 0, by reverse mode.

    `primals` and `dots` are aligned with what the pullback returns; of the former only the Specs are read.

    Errors: RuleError where the pullback cannot be traced.
    """
    parts = _parts(y)
    specs = [None if dot is None else spec_of(x) for x, dot in zip(primals, dots, strict=False)]

    def paired(*bars: Any) -> Any:
        """Re⟨x̄, ẋ⟩ of the cotangents of the parts of y."""
        y_bar = (
            bars[0] if parts.form is None else rule.result_bar(dict(zip(parts.specs, bars, strict=True)), parts.form)
        )
        total = 0.0
        for x_bar, spec, dot in zip(pullback(y_bar), specs, dots, strict=False):
            if spec is not None and x_bar is not None and not is_zero(x_bar):
                total = total + _inner(project(x_bar, spec, rule.broadcasts), dot)
        return total

    if not parts.specs:
        return None
    try:
        slopes = ReverseMode.gradients(call, paired, tuple([_zeros(spec) for spec in parts.specs.values()]))
    except WengertError as error:
        raise RuleError(
            f"{rule.primitive} has no pushforward: the pullback of its rule ({rule.where}) cannot be transposed. "
            f"Declare one, @wg.pushforward({rule.primitive}), above `(dots, y, *args) -> ẏ`. The reason:\n{error}"
        ) from error
    tangents = [call(np.conj, slope) if is_complex(slope) else slope for slope in slopes]
    return parts.joined(tangents)


class _Parts(NamedTuple):
    """The inexact parts of a result: its form, or None where it is one number or array, and a Spec for each part."""

    form: Any
    specs: dict[Any, Spec]

    def joined(self, tangents: Sequence[Any]) -> Any:
        """The tangent of the result, from those of its parts."""
        if self.form is None:
            return tangents[0] if tangents else None
        found = dict(zip(self.specs, tangents, strict=True))
        if is_flat(self.form):
            return tuple([found.get(k) for k in range(len(self.form))])
        return cotangent(self.form, found, False)


def _parts(y: Any) -> _Parts:
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


def _inner(x_bar: Any, dot: Any) -> Any:
    """Re Σ x̄* ẋ."""
    product = (np.conj(x_bar) if is_complex(x_bar) else x_bar) * dot
    total = np.sum(product)
    return np.real(total) if is_complex(total) else total


# The form of a tangent


def fitted(call: Caller, y_dot: Any, y: Any, size: int | None = None) -> Any:
    """The tangent `y_dot` in the shape and realness of the result `y`, and with a leading axis if there is a `size`."""
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
    return y_dot if type(y_dot) is spec.pytype is float else call(_fitted, y_dot, spec)


def _fitted(y_dot: Any, spec: Spec) -> Any:
    return project(y_dot if np.shape(y_dot) == spec.shape else np.broadcast_to(y_dot, spec.shape), spec, False)
