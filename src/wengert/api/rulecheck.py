"""`test_rrule`: checks whether a rule keeps its contract, with each derivative compared with differences."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from wengert.api.differences import extrapolated_derivative
from wengert.errors import GradientCheckError, RuleError
from wengert.recording.leafwise_rules import flattened, takes_containers
from wengert.rulebook.calling import value_and_pullback
from wengert.rulebook.pushforward_check import Called, pushforward_agrees
from wengert.rulebook.registry import Registry, rules
from wengert.values.callables import callable_name
from wengert.values.cotangents import InplaceableThunk, Thunk, ZeroTangent
from wengert.values.numeric_trees import as_kind, bits, map_numbers, numbers, parts, widened
from wengert.values.projection import project
from wengert.values.specs import is_complex, is_inexact, spec_of

# By bytes of the coarsest float in a call, relative to the largest number compared: differences are taken in double
# precision, but a rule works in the precision of its arguments, and rounding errors grow with its condition.
_TOLERANCE = {2: 3e-2, 4: 2e-4, 8: 1e-6, 16: 1e-6}

_CONJUGATE = (
    "A conjugate is the likely cause: with conjugated cotangents the rule is correct. A pullback returns "
    "ȳ · conj(∂y/∂x), where a rule of autograd returns ȳ · ∂y/∂x; partials are ∂y/∂x itself."
)


def test_rrule(
    f: Callable[..., Any],
    *args: Any,
    seed: int = 0,
    rtol: float | None = None,
    registry: Registry = rules,
    **kwargs: Any,
) -> None:
    """Check the rule of `f` at the call `f(*args, **kwargs)`, and raise if it breaks its contract.

    The contract: the rule's value is that of `f` bit for bit. Each float or array among the arguments, also inside
    containers, gets a cotangent of its own shape and dtype that agrees with differences; each other argument gets None.
    The pullback is linear, and has no in-place writes; the pushforward, of partials or declared, agrees with it. The
    code that the engine derives from the rule (variants for fewer arguments, the step on floats, accumulators, thunks)
    agrees with the rule itself.

    Parameters:
        f (callable): The function with the rule.
        *args (Any): Its positional arguments.
        seed (int): The seed of the random cotangents and directions.
        rtol (float | None): The tolerance, relative to the largest number compared; by default 1e-6 in double
            precision.
        registry (Registry): The table of rules that has the rule.
        **kwargs (Any): Its keyword arguments.
    Raises:
        GradientCheckError: A part of the contract is broken; the error names the check, the argument and both numbers.
        NoRuleError: There is no rule.
    See Also:
        rrule, check_grads

    Examples:
        >>> wg.test_rrule(np.sum, np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    """
    names = None
    if takes_containers(registry[f], args):
        f, args, names, registry = flattened(registry[f], f, args, kwargs)
        kwargs = {}
    check = _RuleCheck(f, args, kwargs, np.random.default_rng(seed), rtol, registry, names)
    try:
        check.run()
    except RuleError as error:
        raise check.error(str(error)) from error


test_rrule.__test__ = False  # type: ignore[attr-defined]  # pytest must not collect it


class ArgumentPlace(NamedTuple):
    """The position of a differentiable value: the argument, and the item if that is a sequence."""

    position: int
    item: int | None = None

    def __str__(self) -> str:
        return f"argument {self.position}" + ("" if self.item is None else f"[{self.item}]")

    def of(self, parts: Sequence[Any]) -> Any:
        """Return this part of the arguments, or of the cotangents."""
        part = parts[self.position]
        return part if self.item is None or part is None else part[self.item]

    def put(self, parts: Sequence[Any], value: Any) -> tuple[Any, ...]:
        """Return the parts with this one replaced."""
        if self.item is not None:
            items = list(parts[self.position])
            items[self.item] = value
            value = type(parts[self.position])(items)
        return (*parts[: self.position], value, *parts[self.position + 1 :])


class _RuleCheck:
    """One call of a primitive, its value and pullback by the rule, and the claims that must hold of them."""

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        random: np.random.Generator,
        rtol: float | None,
        registry: Registry,
        names: Sequence[str] | None,
    ) -> None:
        self.f, self.random, self.rtol, self.names = f, random, rtol, names
        self.rule = registry[f]
        self.args, self.kwargs = self.rule.normalise(args, kwargs)
        splatted = self.rule.splat(self.args)
        self.plan = self.rule.plan(len(splatted), tuple(self.kwargs))
        self.primals, self.static = self.plan.bind(splatted, self.kwargs)
        self.before = copy.deepcopy((self.args, self.kwargs))
        self.expected = f(*args, **kwargs)  # not of copies: NumPy adds in another order if the layout differs
        self.call: Callable[[], tuple[Any, Any]] = lambda: registry.rrule(f, *args, **kwargs)

    def run(self) -> None:
        """Check all claims, in order; the first that fails raises."""
        self.y, self.pullback = self.call()
        self.same_bits("the rule returns another value than the function", self.y, self.expected)
        self.same_bits("the rule changed its arguments", (self.args, self.kwargs), self.before)
        if not list(numbers(self.y)):
            return
        y_bar = self.seed()
        held = copy.deepcopy(y_bar)
        cotangents = self.pull(y_bar)
        self.same_bits("the pullback changed its cotangent", y_bar, held)
        self.same_bits("the pullback changed the arguments", (self.args, self.kwargs), self.before)
        self.one_each(cotangents)
        self.agree_with_differences(cotangents, y_bar)
        self.is_linear(cotangents, y_bar)
        self.thunks_agree(cotangents, y_bar)
        if self.rule.kind in ("partials", "pullback"):
            self.variants_agree(cotangents, y_bar)
            self.accumulators_add(cotangents, y_bar)
        self.step_agrees(cotangents, y_bar)
        if self.rule.kind == "partials" or self.rule.forward is not None:
            call = Called(self.f, self.rule, self.y, self.args, self.kwargs)
            pushforward_agrees(call, [*self.places()], y_bar, cotangents, self.random_like, self.close)
            self.same_bits("the pushforward changed the arguments", (self.args, self.kwargs), self.before)

    def pull(self, y_bar: Any) -> Any:
        """Call the pullback; fill in zeros where the rule returns ZeroTangent."""
        cotangents = self.pullback(y_bar)
        if self.rule.kind != "rrule" or self.rule.sequence is not None or not isinstance(cotangents, tuple):
            return cotangents
        zero = [isinstance(x_bar, ZeroTangent) for x_bar in self.made(y_bar)]
        zeros = [
            np.zeros_like(x) if is_zero and is_inexact(x) else None for x, is_zero in zip(self.args, zero, strict=True)
        ]
        return tuple([x_bar if x_bar is not None else made for x_bar, made in zip(cotangents, zeros, strict=True)])

    def error(self, what: str) -> GradientCheckError:
        """Return the error for a failed claim, with the rule's place and the arguments' names."""
        for k, name in enumerate(self.names or ()):
            what = re.sub(rf"\bargument {k}\b(?!\[)", name.replace("argument", "argument\0"), what)
        rule = f"rule {self.rule.name} at {self.rule.where}"
        return GradientCheckError(f"{callable_name(self.f)}, {rule}: {what}".replace("\0", ""))

    def seed(self) -> Any:
        """Return a random cotangent of the value."""
        return map_numbers(self.random_like, self.y)

    def random_like(self, x: Any) -> Any:
        """Return random numbers of the shape, dtype and type of x, none near zero."""
        spec = spec_of(x)
        made = self.random.uniform(0.5, 1.5, spec.shape) * self.random.choice([-1, 1], spec.shape)
        if spec.dtype.kind == "c":
            made = made + 1j * self.random.uniform(-1.5, 1.5, spec.shape)
        return project(np.asarray(made), spec)

    def places(self) -> Iterator[ArgumentPlace]:
        """Yield the places of the inexact values in differentiable positions of the call."""
        count = len(self.primals) if self.rule.sequence is None else self.rule.sequence + 1
        for position, arg in enumerate(self.args):
            if position == self.rule.sequence and isinstance(arg, (list, tuple)):
                yield from (ArgumentPlace(position, i) for i, x in enumerate(arg) if is_inexact(x))
            elif is_inexact(arg) and (position < count or self.rule.kind == "constant"):
                yield ArgumentPlace(position)

    def one_each(self, cotangents: Any) -> None:
        """Check for one cotangent per argument, of its shape and dtype; None exactly where there is no derivative."""
        if not isinstance(cotangents, tuple) or len(cotangents) != len(self.args):
            count = len(cotangents) if isinstance(cotangents, tuple) else f"a {type(cotangents).__name__} of"
            raise self.error(f"the pullback returned {count} cotangents for {len(self.args)} arguments. Return a tuple")
        if self.rule.kind == "constant":
            return
        places = list(self.places())
        for place in places:
            x, x_bar = place.of(self.args), place.of(cotangents)
            if x_bar is None:
                raise self.error(f"the cotangent of {place} is None, but the argument is differentiable")
            have, want = spec_of(x_bar), spec_of(x)
            if (have.shape, have.dtype) != (want.shape, want.dtype):
                raise self.error(f"the cotangent of {place} is {have}, but the argument is {want}")
        differentiable = {place.position for place in places} | {self.rule.sequence}
        for position, x_bar in enumerate(cotangents):
            if x_bar is not None and position not in differentiable:
                raise self.error(f"argument {position} has no derivative, but its cotangent is {x_bar!r}. Return None")

    def agree_with_differences(self, cotangents: Any, y_bar: Any) -> None:
        for place in self.places():
            numeric = self.numeric(place, y_bar)
            got = 0 if self.rule.kind == "constant" else place.of(cotangents)
            try:
                self.close(f"the derivative with respect to {place} disagrees with differences", got, numeric)
            except GradientCheckError as error:
                conjugated = place.of(self.pull(map_numbers(np.conj, y_bar)))
                if conjugated is None or not np.allclose(np.conj(conjugated), numeric, rtol=1e-3, atol=1e-6):
                    raise
                raise GradientCheckError(f"{error}. {_CONJUGATE}") from None

    def numeric(self, place: ArgumentPlace, y_bar: Any) -> np.ndarray:
        """Compute the cotangent by Richardson's extrapolation of central differences.

        It is the derivative of Re Σ conj(ȳ) f(x): its real part along the real direction of x, its imaginary part along
        the imaginary direction.
        """
        x = np.array(widened(place.of(self.args)))
        parts = np.zeros(x.shape, complex)
        for index in np.ndindex(x.shape):
            for unit in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                slope = partial(self.difference, place, x, index, unit, y_bar)
                size = float(abs(x[index]))
                parts[index] += unit * extrapolated_derivative(slope, size, self.precision(), self.size(y_bar))
        return parts if x.dtype.kind == "c" else parts.real

    def difference(
        self, place: ArgumentPlace, x: np.ndarray, index: tuple[int, ...], unit: complex, y_bar: Any, step: float
    ) -> float:
        """Return the slope between x - step and x + step at one index, in double precision if f has it."""
        ends = []
        for sign in (1, -1):
            moved = x.copy(order="K")  # f may depend on the strides of x
            moved[index] += sign * step * unit
            args = place.put(self.args, as_kind(place.of(self.args), moved))
            ends.append((moved[index], self.wide(args)))
        (right, y_right), (left, y_left) = ends
        rise = sum(
            float(np.real(np.sum(np.conj(cotangent) * (np.asarray(b, complex) - np.asarray(a, complex)))))
            for cotangent, b, a in zip(numbers(y_bar), numbers(y_right), numbers(y_left), strict=True)
        )
        return rise / float(abs(right - left))

    def wide(self, args: Sequence[Any]) -> Any:
        """Return f of arguments in double precision."""
        return self.f(*[map_numbers(widened, arg) for arg in args], **self.kwargs)

    def precision(self) -> float:
        """Return the machine epsilon of the results that differences are taken of."""
        return max(float(np.finfo(spec_of(y).dtype).eps) for y in numbers(self.wide(self.args)))

    def size(self, y_bar: Any) -> float:
        """Return the magnitude of the function that differences are taken of."""
        return sum(
            float(np.sum(np.abs(cotangent) * np.abs(y)))
            for cotangent, y in zip(numbers(y_bar), numbers(self.y), strict=True)
        )

    def coarsest(self) -> int:
        """Return the bytes of the coarsest float among the values of the call."""
        values = [*numbers(self.y), *(x for arg in self.args for x in numbers(arg))]
        return min(np.finfo(spec_of(x).dtype).dtype.itemsize for x in values)

    def is_linear(self, cotangents: Any, y_bar: Any) -> None:
        """Check that the pullback is real-linear: the engine adds cotangents of several uses before it pulls back."""
        other = self.seed()
        total = map_numbers(lambda a, b: _project_like(2 * a - 3 * b, a), y_bar, other)
        other_bars, total_bars = self.pull(other), self.pull(total)
        for place in [] if self.rule.kind == "constant" else self.places():
            expected = 2 * np.asarray(place.of(cotangents)) - 3 * np.asarray(place.of(other_bars))
            self.close(f"the pullback is not linear in its cotangent, {place}", place.of(total_bars), expected)

    def variants_agree(self, cotangents: Any, y_bar: Any) -> None:
        """Check the pullbacks for fewer arguments, called with only the residuals that they claim to read."""
        full = self.rule.splat(cotangents)
        for wanted in _subsets([is_inexact(x) for x in self.primals]):
            variant = self.plan.variant(wanted)
            y_kept, kept = variant.residuals(self.y, self.primals)
            made = variant.call(y_bar, y_kept, *kept, **self.static)
            for k, want in enumerate(wanted):
                if not want and made[k] is not None:
                    raise self.error(f"variant {wanted}: cotangent {k} is {made[k]!r}, but was not requested")
                if want:
                    got = project(made[k], spec_of(self.primals[k]), self.rule.broadcasts)
                    self.close(f"variant {wanted}: cotangent {k} disagrees with the full rule", got, full[k])

    def thunks_agree(self, cotangents: Any, y_bar: Any) -> None:
        """Check that a thunk returns its value each time, and that an InplaceableThunk adds it in any memory layout."""
        held = copy.deepcopy(y_bar)
        splatted = self.rule.splat(cotangents)
        for k, x_bar in enumerate(self.made(y_bar)):
            if not isinstance(x_bar, Thunk) or not is_inexact(self.primals[k]):
                continue
            spec = spec_of(self.primals[k])
            for _ in range(2):
                got = project(x_bar, spec, self.rule.broadcasts)
                self.close(f"the thunk of argument {k} returns another value when it is called again", got, splatted[k])
            whole = spec.dtype.kind == "c" or not any(map(is_complex, parts(y_bar)))
            if isinstance(x_bar, InplaceableThunk) and spec.shape and whole and not self.rule.broadcasts:
                self.adds(k, x_bar, splatted[k])
        self.same_bits("a thunk changed the cotangent", y_bar, held)
        self.same_bits("a thunk changed the arguments", (self.args, self.kwargs), self.before)

    def made(self, y_bar: Any) -> Sequence[Any]:
        """Return the rule's own cotangents, one for each argument, with thunks unevaluated."""
        if self.rule.kind == "rrule":
            assert self.rule.body is not None
            _, pullback = value_and_pullback(self.rule, self.rule.body(*self.primals, **self.static))
            return self.rule.cotangents(pullback(y_bar), self.primals)
        if self.rule.kind == "constant":
            return ()
        variant = self.plan.variant(tuple(map(is_inexact, self.primals)))
        y_kept, kept = variant.residuals(self.y, self.primals)
        return variant.call(y_bar, y_kept, *kept, **self.static)

    def adds(self, k: int, thunk: InplaceableThunk, x_bar: Any) -> None:
        """Check that a thunk adds its value to arrays in C and Fortran order, and to a view."""
        start = np.array(self.random_like(self.primals[k]))
        view = np.zeros([2 * n for n in start.shape], start.dtype)[tuple([slice(None, None, 2)] * start.ndim)]
        view[...] = start
        for name, buffer in (("", start.copy()), (" in Fortran order", start.copy(order="F")), (" of a view", view)):
            made = thunk.add(buffer)
            if made is not buffer:
                raise self.error(f"the add of the InplaceableThunk of argument {k} does not return its buffer")
            self.close(
                f"the add of the InplaceableThunk of argument {k}{name} disagrees with buffer + val",
                buffer,
                start + x_bar,
            )

    def accumulators_add(self, cotangents: Any, y_bar: Any) -> None:
        for k, accumulator in self.rule.accumulators.items():
            if k < len(self.primals) and is_inexact(self.primals[k]) and np.ndim(self.primals[k]):
                self.accumulator_adds(k, accumulator.add, cotangents[k], y_bar)

    def accumulator_adds(self, k: int, add: Callable[..., Any], x_bar: Any, y_bar: Any) -> None:
        """Check that the accumulator of argument k adds the rule's cotangent to a buffer."""
        variant = self.plan.variant(tuple([i == k for i in range(len(self.primals))]))
        y, primals = variant.residuals(self.y, self.primals)
        for order in (np.ascontiguousarray, np.asfortranarray):
            start = order(self.random_like(self.primals[k]))
            buffer = start.copy(order="K")
            made = add(buffer, y_bar, y, *primals, **self.static)
            what = f"the accumulator of argument {k}"
            if made is NotImplemented:
                self.close(f"{what} returns NotImplemented, but changed its buffer", buffer, start)
            elif made is not buffer:
                raise self.error(f"{what} does not return its buffer")
            else:
                self.close(f"{what} disagrees with buffer + cotangent", buffer, start + x_bar)

    def step_agrees(self, cotangents: Any, y_bar: Any) -> None:
        """Check the generated steps of a call on one or two floats, backward and forward."""
        kinds = {type(x) for x in (self.y, *self.primals)}
        if self.rule.kind != "partials" or len(self.primals) > 2 or not kinds <= {float, np.float64}:
            return
        for wanted in _subsets([True] * len(self.primals)):
            slots = tuple(i if want else None for i, want in enumerate(wanted))
            sums: list[Any] = [None] * len(wanted)
            entry = (None, self.y, slots, self.primals, None, None)
            self.rule.scalar_step(wanted)(y_bar, entry, sums)
            tangents = {slot: self.random_like(self.y) if want else None for slot, want in enumerate(wanted)}
            y_dot = self.rule.forward_step(wanted)(entry, tangents)
            expected = sum([cotangents[k] * tangents[k] for k, want in enumerate(wanted) if want])
            self.close(
                f"the forward step on floats disagrees with the pullback, variant {wanted}",
                0.0 if y_dot is None else y_bar * y_dot,
                expected,
            )
            for k, want in enumerate(wanted):
                if want:
                    self.close(f"the step on floats disagrees with the pullback, argument {k}", sums[k], cotangents[k])

    def close(self, what: str, got: Any, expected: Any) -> None:
        """Raise if two arrays differ by more than the tolerance; the error has the index and both numbers."""
        got, expected = np.asarray(got), np.asarray(expected)
        if got.shape not in (expected.shape, ()):
            raise self.error(f"{what}: shape {got.shape}, not {expected.shape}")
        tolerance = _TOLERANCE[self.coarsest()] if self.rtol is None else self.rtol
        scale = 1 + float(np.max(np.abs(expected), initial=0.0))
        wrong = ~(np.abs(got - expected) <= tolerance * scale)
        if np.any(wrong):
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            at = f" at {list(index)}" if index else ""
            a, b = (np.broadcast_to(x, expected.shape)[index] for x in (got, expected))
            raise self.error(f"{what}{at}: {a} is not {b} (relative tolerance {tolerance:g})")

    def same_bits(self, what: str, got: Any, expected: Any) -> None:
        for a, b in itertools.zip_longest(parts(got), parts(expected)):
            if type(a) is not type(b) or bits(a) != bits(b):
                raise self.error(f"{what}: {a!r} is not {b!r}")


def _project_like(x: Any, like: Any) -> Any:
    return project(x, spec_of(like))


def _subsets(allowed: Iterable[bool]) -> Iterator[tuple[bool, ...]]:
    """Yield all choices among the allowed ones; if these are many, each alone and all together."""
    allowed = tuple(allowed)
    if sum(allowed) <= 4:
        yield from itertools.product(*[(False, True) if a else (False,) for a in allowed])
        return
    yield allowed
    for k, a in enumerate(allowed):
        if a:
            yield tuple(i == k for i in range(len(allowed)))
