"""Cotangents that are no arrays: their algebra pair by pair, and what the engine makes of them in a user's rule."""

from __future__ import annotations

import copy
import dataclasses
import mmap
import threading
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert import InplaceableThunk, NoTangent, ProjectTo, RuleError, Tangent, Thunk, ZeroTangent, add_inplace, unthunk
from wengert.reverse.accumulators import Cotangents
from wengert.values.settings import SETTINGS

A, B = np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0, -1.0])


def never() -> Any:
    raise AssertionError("forced")


def both(value: Any) -> InplaceableThunk:
    def add(x_bar: np.ndarray) -> np.ndarray:
        x_bar += value
        return x_bar

    return InplaceableThunk(val=lambda: value, add=add)


def plain(x: Any) -> Any:
    """A tangent as what can be compared: the name of a zero, the parts of a Tangent, the value of a thunk."""
    while isinstance(x, Thunk):
        x = x()
    if isinstance(x, ZeroTangent | NoTangent):
        return type(x).__name__
    if isinstance(x, Tangent):
        return x.of.__name__, {key: plain(part) for key, part in x.parts.items()}
    return np.asarray(x).tolist()


# The algebra

ZERO, NONE = "ZeroTangent", "NoTangent"
KINDS: dict[str, Callable[[], Any]] = {
    "zero": ZeroTangent,
    "none": NoTangent,
    "tangent": lambda: Tangent(tuple, 1.0, A),
    "thunk": lambda: Thunk(lambda: B),
    "inplaceable": lambda: both(B),
    "array": lambda: A.copy(),
    "number": lambda: 2.0,
    "numpy number": lambda: np.float64(2.0),
}
TANGENT = ("tuple", {0: 1.0, 1: A.tolist()})
VALUES = {
    "zero": ZERO, "none": NONE, "tangent": TANGENT, "thunk": B.tolist(), "inplaceable": B.tolist(), "array": A.tolist(),
    "number": 2.0, "numpy number": 2.0,
}  # fmt: skip
NUMBERS = ("number", "numpy number")
ARRAYS = ("thunk", "inplaceable", "array")


def summed(a: str, b: str) -> Any:
    """What a + b is, written down by hand."""
    if a == "zero":
        return VALUES[b]
    if b == "zero":
        return VALUES[a]
    if a == "none":
        return VALUES[b]
    if b == "none":
        return VALUES[a]
    if a == b == "tangent":
        return "tuple", {0: 2.0, 1: (2 * A).tolist()}
    if "tangent" in (a, b):
        return RuleError
    return (np.asarray(VALUES[a]) + np.asarray(VALUES[b])).tolist()


PAIRS = [(a, b) for a in KINDS for b in KINDS]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_sum(a: str, b: str) -> None:
    expected = summed(a, b)
    if expected is RuleError:
        with pytest.raises(RuleError, match="cannot add"):
            KINDS[a]() + KINDS[b]()
    else:
        assert plain(KINDS[a]() + KINDS[b]()) == expected


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_sum_in_place(a: str, b: str) -> None:
    """The same, except that nothing is broadcast; only an array is written, by what has its shape."""
    x, y = KINDS[a](), KINDS[b]()
    before = plain(y)
    expected = summed(a, b)
    if expected is not RuleError and {a, b} & {*NUMBERS} and {a, b} & {*ARRAYS}:
        with pytest.raises(RuleError, match="shapes"):
            add_inplace(x, y)
    elif expected is RuleError:
        with pytest.raises(RuleError, match="cannot add"):
            add_inplace(x, y)
    else:
        made = add_inplace(x, y)
        assert plain(made) == expected
        assert plain(y) == before
        if a == "array":
            assert made is x


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_product(a: str, b: str) -> None:
    if "zero" in (a, b):
        expected: Any = ZERO
    elif "none" in (a, b):
        expected = NONE
    elif "tangent" in (a, b):
        other = b if a == "tangent" else a
        if other == "tangent":
            return
        factor = np.asarray(VALUES[other])
        expected = "tuple", {0: (1.0 * factor).tolist(), 1: (A * factor).tolist()}
    else:
        expected = (np.asarray(VALUES[a]) * np.asarray(VALUES[b])).tolist()
    assert plain(KINDS[a]() * KINDS[b]()) == expected


@pytest.mark.parametrize("a", KINDS)
def test_negation_difference_and_quotient(a: str) -> None:
    made, negative = KINDS[a](), plain(-KINDS[a]())
    if a in ("zero", "none"):
        assert negative == VALUES[a] == plain(made / 2.0)
    elif a == "tangent":
        assert negative == ("tuple", {0: -1.0, 1: (-A).tolist()})
        assert plain(made / 2.0) == ("tuple", {0: 0.5, 1: (A / 2).tolist()})
    else:
        assert negative == (-np.asarray(VALUES[a])).tolist()
        assert plain(made / 2.0) == (np.asarray(VALUES[a]) / 2).tolist()
        assert plain(made - both(B)) == (np.asarray(VALUES[a]) - B).tolist()
        assert plain(both(B) - made) == (B - np.asarray(VALUES[a])).tolist()


def test_matrix_products() -> None:
    m = np.arange(9.0).reshape(3, 3)
    assert plain(m @ Thunk(lambda: A)) == (m @ A).tolist()
    assert plain(Thunk(lambda: m) @ A) == (m @ A).tolist()
    assert plain(m @ ZeroTangent()) == plain(ZeroTangent() @ m) == ZERO


def test_zeros_do_not_force_thunks() -> None:
    thunk, acting = Thunk(never), InplaceableThunk(val=never, add=lambda x: never())
    for zero in (ZeroTangent(), NoTangent()):
        for t in (thunk, acting):
            assert zero + t is t + zero is t
            assert zero * t == t * zero == zero
            assert add_inplace(zero, t) is t is add_inplace(t, zero)


def test_zeros_are_equal_by_kind() -> None:
    assert ZeroTangent() == ZeroTangent() != NoTangent()
    assert len({ZeroTangent(), ZeroTangent(), NoTangent()}) == 2
    assert float(ZeroTangent()) == 0.0 and complex(NoTangent()) == 0
    assert repr((ZeroTangent(), Tangent(tuple, 1.0, x=2.0), both(A))) == (
        "(ZeroTangent(), Tangent(tuple, 1.0, x=2.0), InplaceableThunk(...))"
    )


def test_thunks() -> None:
    calls = []
    inner = Thunk(lambda: calls.append(1) or 3.0)
    outer = Thunk(lambda: inner)
    assert unthunk(outer) is inner and unthunk(inner) == 3.0 == unthunk(3.0)
    assert outer + 1.0 == 4.0
    assert len(calls) == 2  # each time anew
    with pytest.raises(TypeError):
        Thunk(lambda: A)[0] = 1.0  # type: ignore[index]
    with pytest.raises(RuleError, match="function without arguments"):
        Thunk(3.0)  # type: ignore[arg-type]
    with pytest.raises(RuleError, match="add="):
        InplaceableThunk(val=lambda: 1.0, add=None)  # type: ignore[arg-type]
    assert both(A).val() is A


def test_structural_tangents() -> None:
    Point = namedtuple("Point", "x y")
    t = Tangent(Point, x=1.0)
    assert t.x == 1.0 == t["x"] and t.y == ZeroTangent()
    assert plain(t + Tangent(Point, y=2.0)) == ("Point", {"x": 1.0, "y": 2.0})
    assert copy.deepcopy(t).x == 1.0
    with pytest.raises(RuleError, match="cannot add"):
        t + Tangent(tuple, 1.0)
    with pytest.raises(RuleError, match="class of its primal"):
        Tangent(1.0)  # type: ignore[arg-type]
    buffer = A.copy()
    made = add_inplace(Tangent(dict, a=buffer), Tangent(dict, a=both(B), b=1.0))
    assert made.a is buffer and plain(made) == ("dict", {"a": (A + B).tolist(), "b": 1.0})


# add_inplace: where it writes


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def mapped(x: np.ndarray) -> np.ndarray:
    made = np.frombuffer(mmap.mmap(-1, x.nbytes), x.dtype)
    made[...] = x
    return made


@pytest.mark.parametrize("x", [
    A.copy(), np.array([0.0, *A])[1:], np.repeat(A, 2)[::2], A[::-1].copy()[::-1], A * 1j, A.astype("f"),
    np.asfortranarray(np.outer(A, A)),
], ids=str)  # fmt: skip
def test_written_in_place(x: np.ndarray) -> None:
    before, y = x.copy(), np.ones(x.shape, "f")
    assert add_inplace(x, y) is x
    np.testing.assert_array_equal(x, before + 1)
    action = InplaceableThunk(val=never, add=both(np.ones(x.shape, "f")).add)
    assert add_inplace(x, action) is x
    np.testing.assert_array_equal(x, before + 2)


@pytest.mark.parametrize(("x", "y"), [
    (read_only(A), B),
    (np.broadcast_to(A, (2, 3)), np.outer([1.0, 2.0], B)),
    (np.lib.stride_tricks.as_strided(A.copy(), (2, 2), (8, 8)), np.ones((2, 2))),
    (mapped(A), B),
    (np.array([1, 2, 3]), B),
    (np.array([True, False, True]), B),
    (A.astype("f"), B),
    (A.copy(), B * 1j),
    (np.array(1.0), np.array(2.0)),
    (np.ma.masked_array(A), B),
    (1.5, 2.5),
    (range(3), B),
    (np.float64(1.0), 2.0),
], ids=str)  # fmt: skip
def test_left_as_it_is(x: Any, y: Any) -> None:
    """Read-only, zero strides, memory of others, kinds that cannot hold the sum, numbers: a new value."""
    before = copy.deepcopy(x)
    made = add_inplace(x, y)
    assert made is not x
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(made, np.asarray(before) + y)


def test_memory_that_is_shared_is_left_as_it_is() -> None:
    x = A.copy()
    made = add_inplace(x, x[::-1])
    assert x.tolist() == A.tolist() and made.tolist() == (A + A[::-1]).tolist()


@pytest.mark.parametrize(
    ("x", "y"), [(A.copy(), 1.0), (1.0, A), (A.copy(), A[:1]), (np.ones((3, 3)), A), (A[:1].copy(), A)]
)
def test_nothing_is_broadcast(x: Any, y: Any) -> None:
    before = copy.deepcopy(x)
    with pytest.raises(RuleError, match="shapes"):
        add_inplace(x, y)
    np.testing.assert_array_equal(x, before)


def test_deferred_sums_chain() -> None:
    x_bar = Thunk(lambda: A.copy())
    for _ in range(50):
        x_bar = Thunk(lambda x_bar=x_bar: add_inplace(x_bar(), both(B)))
    np.testing.assert_allclose(unthunk(x_bar), A + 50 * B)


# ProjectTo


def test_project_to() -> None:
    project = ProjectTo(A.astype("f"))
    made = project(B + 1j)
    assert made.dtype == np.float32 and made.tolist() == B.tolist()
    assert project(np.ones((2, 3))).tolist() == [2.0, 2.0, 2.0]
    assert project(ZeroTangent()) == project(NoTangent()) == project(None) == ZeroTangent()
    assert ProjectTo(3)(2.5) == NoTangent() == ProjectTo("name")(Thunk(never))
    assert isinstance(ProjectTo(A)(Thunk(never)), Thunk)
    assert unthunk(project(Thunk(lambda: B))).dtype == np.float32
    assert ProjectTo(2.0)(np.array([3.0])) == 3.0
    with pytest.raises(RuleError, match="does not fit"):
        ProjectTo(A, broadcasts=False)(np.ones((2, 3)))
    with pytest.raises(RuleError, match="Tangent"):
        project(Tangent(tuple, 1.0))


# In a user's rule


@pytest.fixture(autouse=True)
def scoped() -> Iterator[None]:
    with wg.rules.scope():
        yield


def ruled(y: Callable[..., Any], back: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the rule that `back(y_bar, *args)` gives the cotangents."""

    def f(*args: Any) -> Any:
        return y(*args)

    @wg.rrule(f)
    def f_rule(*args):
        return y(*args), lambda y_bar: back(y_bar, *args)

    return f


def product_in_place(y_bar: Any, a: Any, b: Any) -> tuple[Any, Any]:
    def add_to(factor: Any) -> Callable[[np.ndarray], np.ndarray]:
        def add(x_bar: np.ndarray) -> np.ndarray:
            x_bar += y_bar * factor
            return x_bar

        return add

    return (
        InplaceableThunk(val=lambda: y_bar * b, add=add_to(b)),
        InplaceableThunk(val=lambda: y_bar * a, add=add_to(a)),
    )


FORMS: dict[str, Callable[..., Any]] = {
    "values": lambda y_bar, a, b: (y_bar * b, y_bar * a),
    "thunks": lambda y_bar, a, b: (Thunk(lambda: y_bar * b), Thunk(lambda: y_bar * a)),
    "thunks of thunks": lambda y_bar, a, b: (Thunk(lambda: Thunk(lambda: y_bar * b)), y_bar * Thunk(lambda: a)),
    "acting": product_in_place,
}


def uses(product: Callable[..., Any]) -> Callable[..., Any]:
    """Each argument is used several times, before and after, so that cotangents meet."""

    def f(a: Any, b: Any) -> Any:
        c = product(a, b)
        d = product(c, a)
        return np.sum(product(d, b) + a * a + product(a, a))

    return f


def closed_form(a: Any, b: Any) -> Any:
    return np.sum(a * b * a * b + 2 * a * a)


def slopes(f: Callable[..., Any], a: Any, b: Any) -> list[Any]:
    """By complex steps."""
    found = []
    for args in ((a, None), (None, b)):
        x = a if args[1] is None else b
        bar = np.zeros(np.shape(x))
        for index in np.ndindex(bar.shape):
            step = np.zeros(bar.shape, complex)
            step[index] = 1e-30j
            moved = (a + step, b) if args[1] is None else (a, b + step)
            bar[index] = np.imag(f(*moved)) / 1e-30
        found.append(bar)
    return found


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    ("a", "b"), [(A, B), (2.0, 3.0), (np.outer(A, B), np.outer(B, A))], ids=["vectors", "floats", "matrices"]
)
def test_gradient(kind: str, a: Any, b: Any) -> None:
    f = uses(ruled(lambda a, b: a * b, FORMS[kind]))
    expected = slopes(closed_form, a, b)
    for made in (wg.grad(f, argnums=(0, 1))(a, b), wg.vjp(f, a, b)[1](1.0)):
        np.testing.assert_allclose(made, expected, rtol=1e-12)
    pullback = wg.vjp(f, a, b)[1]
    np.testing.assert_allclose(pullback(1.0), pullback(1.0))


@pytest.mark.parametrize("kind", FORMS)
def test_on_tapes(kind: str) -> None:
    f = uses(ruled(lambda a, b: a * b, FORMS[kind]))
    expected = slopes(closed_form, A, B)
    tape = wg.gradtape(f, A, B)
    np.testing.assert_allclose(tape.play(A, B)[1][1:], expected, rtol=1e-12)
    np.testing.assert_allclose(tape.play(A + 1, 2 * B)[1][1:], slopes(closed_form, A + 1, 2 * B), rtol=1e-12)
    namespace: dict[str, Any] = {}
    text = tape.to_source("derivative")
    exec(text, namespace)
    np.testing.assert_allclose(
        namespace["derivative"](A + 1, 2 * B)[1][1:], slopes(closed_form, A + 1, 2 * B), rtol=1e-12
    )
    assert "wengert" not in text.replace("from wengert import StaleTapeError", "")
    recorded = wg.rrule_tape(wg.trace(f, A, B)[1])
    np.testing.assert_allclose(recorded.play(A + 1, 2 * B)[1], slopes(closed_form, A + 1, 2 * B), rtol=1e-12)


@pytest.mark.parametrize("kind", FORMS)
def test_second_derivatives(kind: str) -> None:
    f = uses(ruled(lambda a, b: a * b, FORMS[kind]))

    def slope(a: Any, b: Any) -> Any:
        return np.sum(wg.grad(f)(a, b) * B)

    def closed(a: Any, b: Any) -> Any:
        return np.sum((2 * a * b * b + 4 * a) * B)

    expected = slopes(closed, A, B)
    np.testing.assert_allclose(wg.grad(slope, argnums=(0, 1))(A, B), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.gradtape(slope, A, B).play(A, B)[1][1:], expected, rtol=1e-12)
    np.testing.assert_allclose(wg.grad(slope, argnums=(0, 1))(2.0, 3.0), [(2 * 9 + 4) * B.sum(), 4 * 2 * 3 * B.sum()])
    third = wg.grad(lambda a: np.sum(wg.grad(lambda a: slope(a, B))(a)))(A)
    np.testing.assert_allclose(third, np.zeros(3))


@pytest.mark.parametrize("zero", [ZeroTangent, NoTangent, lambda: None, lambda: Thunk(ZeroTangent)])
@pytest.mark.parametrize("x", [A, 2.0])
def test_zeros(zero: Callable[[], Any], x: Any) -> None:
    f = ruled(lambda a, b: a * b, lambda y_bar, a, b: (y_bar * b, zero()))

    def total(a: Any, b: Any) -> Any:
        return np.sum(f(a, b) * np.sin(b))

    expected = (x * np.sin(x), x * x * np.cos(x))
    np.testing.assert_allclose(wg.grad(total, argnums=(0, 1))(x, x), expected)
    only = wg.grad(lambda b: np.sum(f(x, b)))(x)
    assert np.all(only == np.zeros(np.shape(x))) and type(only) is type(x)
    np.testing.assert_allclose(wg.gradtape(total, x, x).play(x, x)[1][1:], expected)
    np.testing.assert_allclose(wg.rrule_tape(wg.trace(total, x, x)[1]).play(x, x)[1], expected)
    inner = wg.grad(lambda a: np.sum(wg.grad(total, argnums=1)(a, x)))(x)
    np.testing.assert_allclose(inner, x * np.cos(x))


@pytest.mark.parametrize("x", [A, 2.0, A + 1j, 2.0 + 1j], ids=str)
@pytest.mark.parametrize("declare", ["pullback", "partials"])
@pytest.mark.parametrize("many", [1, 150])  # a step of its own is generated after 100 uses
def test_in_other_forms_of_rules(declare: str, x: Any, many: int) -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return a * b

    if declare == "pullback":

        @wg.vjp_rule(f)
        def f_rule(y_bar, y, a, b, c):
            return Thunk(lambda: y_bar * np.conj(b)), product_in_place(y_bar, np.conj(a), b)[1], ZeroTangent()

    else:

        @wg.partials(f)
        def f_rule(y, a, b, c):
            return Thunk(lambda: b), a, NoTangent()

    def total(a: Any, b: Any, c: Any) -> Any:
        return np.real(np.sum(f(a, b, c) * f(b, b, c) * c * f(c, c, b)))

    def closed(a: Any, b: Any, c: Any) -> Any:
        return np.real(np.sum(a * b**3 * c**3))

    expected = [np.conj(g) for g in (x**6, 3 * x**6, 3 * x**6)]
    for _ in range(many):
        made = wg.grad(total, argnums=(0, 1, 2))(x, x, x)
    np.testing.assert_allclose(made, np.conj(expected), rtol=1e-12)
    np.testing.assert_allclose(made, wg.grad(closed, argnums=(0, 1, 2))(x, x, x), rtol=1e-12)
    if not np.iscomplexobj(x):
        second = wg.grad(lambda a: np.sum(wg.grad(total, argnums=1)(a, x, x)))(x)
        np.testing.assert_allclose(second, 3 * x**5, rtol=1e-12)
        np.testing.assert_allclose(wg.gradtape(total, x, x, x).play(x, x, x)[1][1:], expected, rtol=1e-12)


# Hazards


def test_unwanted_thunks_are_never_forced_and_wanted_ones_once() -> None:
    calls: list[str] = []

    def back(y_bar: Any, a: Any, b: Any) -> Any:
        return Thunk(lambda: calls.append("a") or y_bar * b), Thunk(lambda: calls.append("b") or y_bar * a)

    f = ruled(lambda a, b: a * b, back)
    wg.grad(lambda a: np.sum(f(a, B)) + np.sum(a))(A)
    assert calls == ["a"]
    calls.clear()
    wg.grad(lambda b: f(2.0, b))(3.0)
    assert calls == ["b"]
    calls.clear()
    wg.grad(lambda a: np.sum(wg.grad(lambda b: np.sum(f(a, b)))(B)))(A)
    assert calls == ["b"]


def getitem_in_place(y_bar: Any, x: Any, i: Any) -> Any:
    def one_hot() -> np.ndarray:
        made = np.zeros_like(x)
        np.add.at(made, i, y_bar)
        return made

    def add(x_bar: np.ndarray) -> np.ndarray:
        np.add.at(x_bar, i, y_bar)
        return x_bar

    return InplaceableThunk(val=one_hot, add=add), NoTangent()


@pytest.mark.parametrize(
    "i", [1, -1, slice(None), slice(None, None, -2), ..., [0, 0, 2], np.array([True, False, True])], ids=str
)
def test_reads_add_to_one_buffer(i: Any) -> None:
    f = ruled(lambda x, i: x[i] * 1.0, getitem_in_place)
    made = wg.grad(lambda x: np.sum(np.sin(f(x, i))) + np.sum(f(x, i)) + np.sum(f(x, 0)))(A)
    expected = wg.grad(lambda x: np.sum(np.sin(x[i])) + np.sum(x[i]) + x[0])(A)
    np.testing.assert_allclose(made, expected)


def test_a_loop_over_elements_makes_one_array(monkeypatch: pytest.MonkeyPatch) -> None:
    f = ruled(lambda x, i: x[i] * 1.0, getitem_in_place)
    made = []
    real = np.zeros_like
    monkeypatch.setattr(np, "zeros_like", lambda x: made.append(1) or real(x))

    def total(x: np.ndarray) -> Any:
        t = 0.0
        for i in range(len(x)):
            t += f(x, i)
        return t

    x_bar = wg.grad(total)(np.ones(50))
    assert x_bar.tolist() == [1.0] * 50 and len(made) == 1


def test_what_passes_through_is_not_written() -> None:
    """ȳ is the cotangent of both arguments: adding to one must not change the other, nor a seed."""
    f = ruled(lambda a, b: a + b, lambda y_bar, a, b: (both(y_bar), both(y_bar)))
    seed = np.array([1.0, 10.0, 100.0])
    kept = seed.copy()
    _, pullback = wg.vjp(lambda a, b: f(f(a, a), f(b, a)), A, B)
    a_bar, b_bar = pullback(seed)
    assert seed.tolist() == kept.tolist()
    assert a_bar.tolist() == (3 * seed).tolist() and b_bar.tolist() == seed.tolist()
    assert not np.shares_memory(a_bar, b_bar) and not np.shares_memory(b_bar, seed)


def test_a_value_that_the_rule_keeps_is_not_written() -> None:
    kept = np.ones(3)
    f = ruled(lambda a: np.sum(a), lambda y_bar, a: (both(kept),))
    made = wg.grad(lambda a: f(a) + f(a) + f(a))(A)
    assert made.tolist() == [3.0] * 3 and kept.tolist() == [1.0] * 3
    wg.grad(f)(A)[0] = 7.0
    assert kept.tolist() == [1.0] * 3


@pytest.mark.parametrize("dtype", ["f", "d", "D"])
def test_dtype_and_realness_of_the_argument(dtype: str) -> None:
    """A complex ȳ on the way to a real argument: the real part, by the value; a float32 stays one."""
    x, factor = A.astype(dtype), B + 2j

    def add_to(y_bar: Any) -> Callable[[np.ndarray], np.ndarray]:
        def add(x_bar: np.ndarray) -> np.ndarray:
            x_bar += y_bar * np.conj(factor)
            return x_bar

        return add

    back = lambda y_bar, a: (InplaceableThunk(val=lambda: y_bar * np.conj(factor), add=add_to(y_bar)),)
    f = ruled(lambda a: a * factor, back)

    def total(a: Any, f: Any) -> Any:
        return np.sum(np.abs(f(a) + 2 * f(a) + f(a * 3)) ** 2)

    made = wg.grad(lambda a: total(a, f))(x)
    assert made.dtype == x.dtype
    np.testing.assert_allclose(made, wg.grad(lambda a: total(a, lambda a: a * factor))(x), rtol=1e-5)


def test_broadcasting_takes_the_value() -> None:
    def f(a: Any, b: Any) -> Any:
        return a + b

    @wg.vjp_rule(f, broadcasts=True)
    def f_rule(y_bar, y, a, b):
        return InplaceableThunk(val=lambda: y_bar, add=never), InplaceableThunk(val=lambda: y_bar, add=never)

    m = np.ones((4, 3))
    a_bar, m_bar = wg.grad(lambda a, m: np.sum(f(a, m) * f(m, a) + a), argnums=(0, 1))(A, m)
    np.testing.assert_allclose(a_bar, np.sum(2 * (A + m) + 1, axis=0))
    np.testing.assert_allclose(m_bar, 2 * (A + m))


def test_numbers_take_the_value() -> None:
    f = ruled(lambda a: 3 * a, lambda y_bar, a: (InplaceableThunk(val=lambda: 3 * y_bar, add=never),))
    assert wg.grad(lambda a: f(a) * f(a) + f(a))(2.0) == 39.0
    x = np.array(2.0)
    assert wg.grad(lambda a: f(a) * f(a) + f(a))(x) == 39.0


def test_readers_of_written_memory() -> None:
    """The thunk reads what the rule's body kept, though the function writes its argument later."""
    f = ruled(lambda a: a * a, lambda y_bar, a: (Thunk(lambda: 2 * y_bar * a),))

    def total(x: np.ndarray) -> Any:
        w = x * 1.0
        y = np.sum(f(w) * 1.0)
        return y + np.sum(x)

    np.testing.assert_allclose(wg.grad(total)(A), 2 * A + 1)


# Containers


@dataclasses.dataclass
class Point:
    x: Any
    y: Any
    name: str = "p"


class Pair(NamedTuple):
    x: Any
    y: Any


CONTAINERS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "tuple": (lambda x, y: (x, y), lambda p: (p[0], p[1]), lambda x, y: Tangent(tuple, x, y)),
    "tuple itself": (lambda x, y: (x, y), lambda p: (p[0], p[1]), lambda x, y: (x, y)),
    "list": (lambda x, y: [x, y], lambda p: (p[0], p[1]), lambda x, y: Tangent(list, x, y)),
    "list itself": (lambda x, y: [x, y], lambda p: (p[0], p[1]), lambda x, y: [x, y]),
    "dict": (lambda x, y: {"x": x, "y": y}, lambda p: (p["x"], p["y"]), lambda x, y: Tangent(dict, x=x, y=y)),
    "dict itself": (lambda x, y: {1: x, 2: y}, lambda p: (p[1], p[2]), lambda x, y: {1: x, 2: y}),
    "object": (Point, lambda p: (p.x, p.y), lambda x, y: Tangent(Point, x=x, y=y)),
    "object itself": (Point, lambda p: (p.x, p.y), lambda x, y: Point(x, y)),
    "named tuple": (Pair, lambda p: (p.x, p.y), lambda x, y: Tangent(Pair, x=x, y=y)),
    "delayed": (Point, lambda p: (p.x, p.y), lambda x, y: Thunk(lambda: Tangent(Point, x=Thunk(lambda: x), y=both(y)))),
    "nested": (
        lambda x, y: [{"x": x}, (1, y)],
        lambda p: (p[0]["x"], p[1][1]),
        lambda x, y: Tangent(list, Tangent(dict, x=x), (None, y)),
    ),
}
NAMED_ON_TAPES = ("tuple", "tuple itself", "list", "list itself")


def container_rule(kind: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    make, parts, bar = CONTAINERS[kind]

    def y(p: Any, factor: Any) -> Any:
        x, y = parts(p)
        return x * y * factor

    def back(y_bar: Any, p: Any, factor: Any) -> Any:
        x, y = parts(p)
        return bar(y_bar * y * factor, y_bar * x * factor), Thunk(lambda: y_bar * x * y)

    f = ruled(y, back)
    return f, lambda a, b: np.sum(f(make(a, b), a) * f(make(b, b), b))


def closed_of_containers(a: Any, b: Any) -> Any:
    return np.sum(a * a * b**4)


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize(("a", "b"), [(A, B), (2.0, 3.0)], ids=["arrays", "floats"])
def test_container(kind: str, a: Any, b: Any) -> None:
    _, total = container_rule(kind)
    expected = slopes(closed_of_containers, a, b)
    np.testing.assert_allclose(wg.grad(total, argnums=(0, 1))(a, b), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.gradtape(total, a, b).play(a, b)[1][1:], expected, rtol=1e-12)
    inner = wg.grad(lambda a: np.sum(wg.grad(total, argnums=1)(a, b)))(a)
    np.testing.assert_allclose(inner, 8 * a * b**3, rtol=1e-12)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_container_on_a_tape(kind: str) -> None:
    _, total = container_rule(kind)
    if kind not in NAMED_ON_TAPES:
        with pytest.raises(wg.NoRuleError, match="a tape cannot name them"):
            wg.trace(total, A, B)
        return
    recorded = wg.rrule_tape(wg.trace(total, A, B)[1])
    np.testing.assert_allclose(recorded.play(A, B)[1], slopes(closed_of_containers, A, B), rtol=1e-12)
    np.testing.assert_allclose(recorded.play(B, A)[1], slopes(closed_of_containers, B, A), rtol=1e-12)


def test_container_as_an_argument_of_the_gradient() -> None:
    f = ruled(lambda p: p.x * p.y, lambda y_bar, p: (Tangent(Point, x=y_bar * p.y),))  # y: nothing, so zero
    assert wg.grad(f)(Point(2.0, 3.0)) == Point(3.0, 0.0, None)


@pytest.mark.parametrize(("bar", "match"), [
    (lambda g: Tangent(Point, z=g), "with x, y, name is a Tangent of Point with z"),
    (lambda g: Tangent(Pair, x=g), "Tangent of Pair"),
    (lambda g: g, "not float"),
    (lambda g: {"x": g, "z": g}, "dict with x, z"),
    (lambda g: Tangent(Point, x=Tangent(tuple, g)), "must be a number or an array, not Tangent"),
])  # fmt: skip
def test_a_tangent_of_another_form_is_refused(bar: Callable[[Any], Any], match: str) -> None:
    f = ruled(lambda p: p.x * p.y, lambda y_bar, p: (bar(y_bar),))
    with pytest.raises(RuleError, match=match) as caught:
        wg.grad(lambda a: f(Point(a, 3.0)))(2.0)
    assert "test_cotangents.py:" in str(caught.value)


def test_other_rules_take_no_containers() -> None:
    def f(p: Any, scale: Any = 1.0) -> Any:
        return p["x"] * scale

    @wg.vjp_rule(f)
    def f_rule(y_bar, y, p, scale):
        return None, y_bar * p["x"]

    for total in (lambda a: f({"x": a}, 2.0), lambda a: f({"x": a}, a), lambda a: f(scale=a, p={"x": a})):
        with pytest.raises(wg.NoRuleError, match="rule"):
            wg.grad(total)(2.0)


def test_what_a_rule_cannot_see_is_refused() -> None:
    f = ruled(lambda x, g: g(x), lambda y_bar, x, g: (y_bar, None))
    h = ruled(lambda x, p: x, lambda y_bar, x, p: (y_bar, None))
    with pytest.raises(wg.NoRuleError, match="a traced value reaches it"):
        wg.grad(lambda a: f(1.0, lambda x: x * a))(2.0)
    with pytest.raises(wg.NoRuleError, match="a traced value reaches it"):
        wg.grad(lambda a: f(a, lambda x: x * a))(2.0)
    with pytest.raises(wg.NoRuleError, match="a traced value reaches it"):
        wg.grad(lambda a: h(a, {frozenset([a])}))(2.0)


# Mistakes that the engine finds


def wrong_add(mistake: Callable[[np.ndarray, Any], Any]) -> Callable[..., Any]:
    back = lambda y_bar, a: (
        InplaceableThunk(val=lambda: np.full_like(a, y_bar), add=lambda x_bar: mistake(x_bar, y_bar)),
    )
    return ruled(lambda a: np.sum(a), back)


@pytest.mark.parametrize("mistake", [
    lambda x_bar, g: None,
    lambda x_bar, g: 1.0,
    lambda x_bar, g: x_bar[:1] + g,
    lambda x_bar, g: (x_bar + g).astype("f"),
])  # fmt: skip
def test_an_action_that_returns_no_such_array(mistake: Callable[..., Any]) -> None:
    f = wrong_add(mistake)
    with pytest.raises(RuleError, match="return x_bar") as caught:
        wg.grad(lambda a: f(a) + f(a))(A)
    assert "the rule of ruled.<locals>.f" in str(caught.value) or "the rule of f" in str(caught.value)
    assert "test_cotangents.py:" in str(caught.value)


def test_debug_asks_for_the_very_object() -> None:
    f = wrong_add(lambda x_bar, g: x_bar + g)
    assert wg.grad(lambda a: f(a) + f(a) + f(a))(A).tolist() == [3.0] * 3  # what it returned is the sum
    with wg.debug():
        with pytest.raises(RuleError, match=r"test_cotangents\.py:"):
            wg.grad(lambda a: f(a) + f(a))(A)
        with pytest.raises(RuleError, match="not the array that it received"):
            add_inplace(A.copy(), InplaceableThunk(val=lambda: B, add=lambda x: x + B))
    assert wg.grad(lambda a: f(a) + f(a))(A).tolist() == [2.0] * 3


def test_debug_lets_right_rules_pass() -> None:
    with wg.debug():
        test_a_value_that_the_rule_keeps_is_not_written()
        test_what_passes_through_is_not_written()


def test_debug_is_over_after_an_exception_and_is_of_one_thread() -> None:
    def fail() -> None:
        thread = threading.Thread(target=lambda: seen.append(SETTINGS.debug))
        thread.start()
        thread.join()
        seen.append(SETTINGS.debug)
        raise ZeroDivisionError

    seen: list[bool] = []
    with pytest.raises(ZeroDivisionError), wg.debug():
        fail()
    assert seen == [False, True] and not SETTINGS.debug


def test_debug_finds_a_shared_buffer() -> None:
    bars = Cotangents(2)
    buffer = np.zeros(3)
    bars.add(0, buffer, owned=True)
    bars.add(1, buffer[:2])
    bars.add_contribution(0, [both(B)], buffer, False, 1.0)
    with wg.debug(), pytest.raises(RuleError, match="another cotangent shares"):
        bars.add_contribution(0, [both(B)], buffer, False, 1.0)
