"""`out=` of any shape and dtype: a call that writes into an array has the derivative of `o[...] = f(x)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
from wengert.extend import rules

X, NEAR = np.array([0.31, 0.57, 0.83]), np.array([0.32, 0.58, 0.84])
DIRECTION = np.array([0.3, -0.2, 0.9])
A = np.arange(9.0).reshape(3, 3) / 7
WIDE = np.arange(12.0).reshape(3, 4) / 7
Write = Callable[[Any, Any], Any]

WRITERS: dict[str, tuple[Write, tuple[int, ...]]] = {
    "exp": (lambda x, o: np.exp(x, out=o), (3,)),
    "sqrt of a float": (lambda x, o: np.sqrt(x[0], out=o), ()),
    "maximum": (lambda x, o: np.maximum(x, 0.4, out=o), (3,)),
    "list": (lambda x, o: np.multiply([x[0], x[1], 2.0], x, out=o), (3,)),
    "dtype": (lambda x, o: np.multiply(x, x, out=o, dtype=float), (3,)),
    "where": (lambda x, o: np.log(x, out=o, where=np.array([True, False, True])), (3,)),
    "vector @ vector": (lambda x, o: np.matmul(x, x * 2, out=o), ()),
    "matrix @ vector": (lambda x, o: np.matmul(A, x, out=o), (3,)),
    "matrix @ matrix": (lambda x, o: np.matmul(A * x, A.T, out=o), (3, 3)),
    "stack @ matrix": (lambda x, o: np.matmul((A * x)[None], A, out=o), (1, 3, 3)),
    "vecdot": (lambda x, o: np.vecdot(A * x, A, out=o), (3,)),
    "vecdot, axis": (lambda x, o: np.vecdot(WIDE * x[:, None], WIDE, axis=0, out=o), (4,)),
    "vecdot, keepdims": (lambda x, o: np.vecdot(A * x, A, keepdims=True, out=o), (3, 1)),
    "clip": (lambda x, o: np.clip(x, 0.4, 0.7, out=o), (3,)),
    "einsum": (lambda x, o: np.einsum("i,j->ij", x, x[:1], out=o), (3, 1)),
    "outer": (lambda x, o: np.outer(x, x[:1], out=o), (3, 1)),
    "multiply.outer": (lambda x, o: np.multiply.outer(x, x[:1], out=o), (3, 1)),
    "accumulate": (lambda x, o: np.multiply.accumulate(x[:, None], axis=0, out=o), (3, 1)),
    "cumsum": (lambda x, o: np.cumsum(x[:, None], axis=0, out=o), (3, 1)),
    "quantile": (lambda x, o: np.quantile(x[:, None] * x, 0.3, axis=0, out=o), (3,)),
    "sum": (lambda x, o: np.sum(x[:, None] * x, axis=0, out=o), (3,)),
    "mean": (lambda x, o: np.mean(x[:, None] * x, axis=0, out=o), (3,)),
    "modf": (lambda x, o: np.modf(x * 3, out=(o, None)), (3,)),
    "divmod": (lambda x, o: np.divmod(x, 0.2, out=(np.zeros(o.shape), o)), (3,)),
    "frexp": (lambda x, o: np.frexp(x, o, None), (3,)),
    "in place": (lambda x, o: o.__iadd__(x), (3,)),
    "itself": (lambda x, o: (np.multiply(x, x, out=o), np.exp(o[..., :1], out=o)), (3,)),
    "its row": (lambda x, o: (np.multiply(x, x, out=o), np.sqrt(o[:1], out=o)), (3,)),
}  # fmt: skip
for _name in ("matvec", "vecmat"):
    if hasattr(np, _name):
        _ufunc = getattr(np, _name)
        WRITERS[_name] = (lambda x, o, u=_ufunc: u(*((A, x) if u is np.matvec else (x, A)), out=o), (3,))


def ufuncs() -> Iterator[tuple[np.ufunc, Write]]:
    """Ufuncs of NumPy and SciPy that have a rule, with a write of each."""
    found = {f for module in (np, scipy.special) for f in vars(module).values() if isinstance(f, np.ufunc)}
    for ufunc in sorted(found, key=lambda f: f.__name__):
        if ufunc in rules and rules[ufunc].kind != "constant" and ufunc.nout == 1 and ufunc.signature is None:
            yield ufunc, lambda x, o, u=ufunc: u(*[x + 0.13 * k for k in range(u.nin)], out=o)


def targets(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The shape itself, with more axes, with longer axes, and one that is too small."""
    return [shape, (2, *shape), (1, *shape), tuple([4 if n == 1 else n for n in shape]), shape[1:]]


def writing(write: Write, shape: tuple[int, ...], dtype: Any, view: bool = False) -> Callable[[Any], Any]:
    weights = np.cos(np.arange(1 + int(np.prod(shape))))[1:].reshape(shape)

    def f(x: Any) -> Any:
        o = np.zeros([2 * n for n in shape])[tuple([slice(None, None, 2) for _ in shape])] if view else None
        o = np.zeros(shape, dtype) if o is None else o
        write(x, o)
        return np.real(o * weights)

    return f


def differences(f: Callable[[Any], Any], h: float) -> np.ndarray:
    return np.stack([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)], -1)


def compiled(f: Callable[[Any], Any]) -> Any:
    gradient = wg.compile(wg.grad(lambda x: np.sum(f(x))))
    gradient(X)
    return gradient(X)


def total(jacobian: np.ndarray) -> np.ndarray:
    return jacobian.reshape(-1, 3).sum(0)


Mode = tuple[Callable[[Any], Any], Callable[[Any, np.ndarray], Any], bool]
FEW: dict[str, Mode] = {  # what is asked, what is right, and whether to the bit
    "value": (lambda f: wg.vjp(f, X)[0], lambda f, _: f(X), True),
    "grad": (lambda f: wg.grad(lambda x: np.sum(f(x)))(X), lambda _, j: total(j), False),
    "jvp": (lambda f: wg.jvp(f, (X,), (DIRECTION,))[1], lambda _, j: j @ DIRECTION, False),
    "tape": (lambda f: wg.trace(f, X)[1].play(NEAR), lambda f, _: f(NEAR), True),
}
ALL: dict[str, Mode] = FEW | {
    "jacfwd": (lambda f: wg.jacfwd(f)(X), lambda _, j: j, False),
    "jacrev": (lambda f: wg.jacrev(f)(X), lambda _, j: j, False),
    "source": (lambda f: wg.trace(f, X)[1].compile()(NEAR), lambda f, _: f(NEAR), True),
    "vmap": (lambda f: wg.vmap(f)(np.stack([X, NEAR])), lambda f, _: np.stack([f(X), f(NEAR)]), False),
    "compile": (compiled, lambda _, j: total(j), False),
    "sparse": (
        lambda f: wg.sparse_jacobian(lambda x: f(x).ravel())(X).toarray(), lambda _, j: j.reshape(-1, 3), False
    ),
}  # fmt: skip


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def failures(f: Callable[[Any], Any], modes: dict[str, Mode], step: float) -> Iterator[str]:
    plain = outcome(lambda: f(X))
    if isinstance(plain, str):
        got = outcome(lambda: wg.grad(lambda x: np.sum(f(x)))(X))
        if got != plain:
            yield f"{got} instead of {plain}"
        return
    jacobian, tolerance = differences(f, step), 20 * step
    for name, (ask, right, is_exact) in modes.items():
        got, wanted = outcome(lambda ask=ask: ask(f)), right(f, jacobian)
        allowed = 0 if is_exact else tolerance
        if np.shape(got) != np.shape(wanted) or not np.allclose(got, wanted, rtol=allowed, atol=allowed):
            yield f"{name}: {got} instead of {wanted}"


def differs(write: Write) -> bool:
    """Whether a ufunc is differentiable here in all its arguments."""
    f = writing(write, (3,), float)

    def stored(x: Any) -> Any:
        o = np.zeros(3)
        o[...] = write(x, None)
        return np.sum(o)

    plain = outcome(lambda: f(X))
    if isinstance(plain, str) or not np.isfinite(plain).all():
        return False
    expected = total(differences(lambda x: np.atleast_1d(stored(x)), 1e-6))
    got = outcome(lambda: wg.grad(stored)(X))
    return not isinstance(got, str) and np.allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_every_ufunc() -> None:
    found, seen = [], 0
    for ufunc, write in ufuncs():
        if differs(write):
            seen += 1
            for shape in ((2, 3), (1, 3), (2,)):
                found += [(ufunc.__name__, shape, it) for it in failures(writing(write, shape, float), FEW, 1e-6)]
    assert seen > 60
    assert not found, "\n".join(map(str, found))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", [[*WRITERS][k::3] for k in range(3)], ids=["first", "second", "third"])
def test_every_mode(names: list[str]) -> None:
    found = []
    for name in names:
        write, shape = WRITERS[name]
        for target in dict.fromkeys(targets(shape)):
            found += [(name, target, it) for it in failures(writing(write, target, float), ALL, 1e-6)]
    assert not found, "\n".join(map(str, found))


@pytest.mark.filterwarnings("ignore")
def test_other_dtypes_and_views() -> None:
    """A result that is rounded into its target is what a pullback reads unrounded."""
    found = []
    for name, (write, shape) in WRITERS.items():
        for target in (shape, (2, *shape)):
            for f, step in (
                (writing(write, target, np.float32), 1e-3),
                (writing(write, target, complex), 1e-6),
                (writing(write, target, float, view=True), 1e-6),
            ):
                modes = {mode: FEW[mode] for mode in ("grad", "jvp")}
                found += [(name, target, it) for it in failures(f, modes, step)]
    assert not found, "\n".join(map(str, found))


def test_what_is_no_broadcast_result_is_refused() -> None:
    """`reduceat` with a further axis in its target writes something else than its result."""

    def f(x: Any) -> Any:
        o = np.zeros((2, 2, 1))
        np.add.reduceat(x[:, None], [0, 1], axis=0, out=o)
        return np.sum(o)

    with pytest.raises(wg.RefusedCallError, match="Pass an array of that shape"):
        wg.grad(f)(X)
