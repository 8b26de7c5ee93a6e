"""What is made of a function travels: it is pickled, copied, named and bound like a function, and gives the same."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.recording.recording import STATE

X = np.array([0.5, 2.0, 1.5])


def energy(x: Any) -> Any:
    """The energy."""
    return np.sum(x**3)


def paired(x: Any) -> Any:
    return np.sum(x**3), "aux"


def steps(x: Any) -> Any:
    return x**2 * x[::-1]


def cube(t: Any) -> Any:
    return t**3


MADE: dict[str, tuple[Callable[..., Any], Any]] = {
    "grad": (wg.grad(energy), 3 * X**2),
    "grad of a tuple": (wg.grad(energy, argnums=("x",)), (3 * X**2,)),
    "grad with aux": (wg.grad(paired, has_aux=True), (3 * X**2, "aux")),
    "value_and_grad": (wg.value_and_grad(energy), (np.sum(X**3), 3 * X**2)),
    "jacobian": (wg.jacobian(cube), np.diag(3 * X**2)),
    "jacrev": (wg.jacrev(cube), np.diag(3 * X**2)),
    "jacfwd": (wg.jacfwd(cube, as_matrix=True), np.diag(3 * X**2)),
    "value_and_jacobian": (wg.value_and_jacobian(cube), (X**3, np.diag(3 * X**2))),
    "hessian": (wg.hessian(energy), np.diag(6 * X)),
    "hessian as a matrix": (wg.hessian(energy, argnums=(0,), as_matrix=True), np.diag(6 * X)),
    "elementwise_grad": (wg.elementwise_grad(cube), 3 * X**2),
    "checkpoint": (wg.checkpoint(energy), np.sum(X**3)),
    "grad of checkpoint": (wg.grad(wg.checkpoint(energy)), 3 * X**2),
    "vmap": (wg.vmap(cube), X**3),
    "vmap of grad": (wg.vmap(wg.grad(cube)), 3 * X**2),
    "compile": (wg.compile(energy, native=False), np.sum(X**3)),
    "compile of grad": (wg.compile(wg.grad(energy), exact=True), 3 * X**2),
    "grad of compile": (wg.grad(wg.compile(energy)), 3 * X**2),
    "math": (wg.vmap(wg.grad(math.exp)), np.exp(X)),
}  # fmt: skip


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found == expected if isinstance(expected, str) else np.allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", MADE)
def test_it_is_pickled_and_copied(name: str) -> None:
    made, expected = MADE[name]
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        assert same(pickle.loads(pickle.dumps(made, protocol))(X.copy()), expected)
    for other in (copy.copy(made), copy.deepcopy(made), made):
        assert same(other(X.copy()), expected)


def test_sparse_jacobians_are_pickled() -> None:
    pytest.importorskip("scipy")
    jacobian = pickle.loads(pickle.dumps(wg.sparse_jacobian(cube)))
    hessian = copy.deepcopy(wg.sparse_hessian(energy, pattern=np.eye(3)))
    assert same(jacobian(X).toarray(), np.diag(3 * X**2))
    assert same(hessian(X).toarray(), np.diag(6 * X))


def test_a_sparse_jacobian_is_a_method_too() -> None:
    pytest.importorskip("scipy")
    assert same(Spring(3.0).stretched(X).toarray(), 3 * np.eye(3))


def test_derivatives_of_one_number_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(wg.derivative(cube, order=2)))(3.0) == 18.0


def test_what_is_of_this_run_alone_says_so() -> None:
    tape = wg.gradtape(np.sin, 0.5)
    with pytest.raises(wg.TapeError, match="to_source"):
        pickle.dumps(tape)
    assert copy.deepcopy(tape).play(0.5) == tape.play(0.5)
    with pytest.raises(wg.RefusedCallError, match="cannot be pickled"):
        pickle.dumps(STATE)


def test_what_is_compiled_is_compiled_again() -> None:
    made = wg.compile(wg.grad(energy), strict=True, native=False)
    made(X)
    other = pickle.loads(pickle.dumps(made))
    assert other.explain().splitlines()[0] == "test_pickling.energy: not compiled, 0 traces"
    assert same(other(X), 3 * X**2)
    assert other.explain().splitlines()[0] == "test_pickling.energy: compiled (NumPy), 1 trace"
    assert (other.strict, *other.settings) == (True, False, False, False)


@wg.grad
def slope(x: Any) -> Any:
    return x**4


@wg.compile
def compiled(x: Any) -> Any:
    return x**4


class Spring:
    def __init__(self, stiffness: float) -> None:
        self.stiffness = stiffness
        self.force = wg.grad(self.energy)

    def energy(self, x: float) -> float:
        return 0.5 * self.stiffness * x * x

    @wg.grad(argnums=1)
    def pull(self, x: float) -> float:
        return 0.5 * self.stiffness * x * x

    @wg.vmap
    @staticmethod
    def square(x: float) -> float:
        return x * x

    @wg.compile
    @wg.grad
    @staticmethod
    def cube(x: float) -> float:
        return x**3

    @wg.sparse_jacobian(argnums=1)
    def stretched(self, x: Any) -> Any:
        return self.stiffness * x


@pytest.mark.parametrize("made", [slope, compiled, Spring.pull])
def test_what_a_decorator_has_put_under_its_name_is_pickled_by_it(made: Any) -> None:
    assert pickle.loads(pickle.dumps(made)) is made
    assert copy.deepcopy(made) is made


def test_a_deep_copy_is_bound_to_the_copy_of_the_object() -> None:
    spring = Spring(3.0)
    for other in (copy.deepcopy(spring), pickle.loads(pickle.dumps(spring))):
        other.stiffness = 5.0
        assert (spring.force(2.0), other.force(2.0)) == (6.0, 10.0)


def test_it_is_a_method_where_a_class_has_it() -> None:
    spring = Spring(3.0)
    assert (spring.pull(2.0), Spring.pull(spring, 2.0)) == (6.0, 6.0)
    assert same(Spring.square(X), X**2)
    assert same(spring.square(X), X**2)
    assert (Spring.cube(2.0), spring.cube(2.0)) == (12.0, 12.0)
    assert wg.grad(lambda s: s.pull(2.0) ** 2)(spring).stiffness == 2 * 6.0 * 2.0


def test_it_tells_what_it_was_made_of() -> None:
    made = wg.grad(energy)
    assert (made.__name__, made.__doc__, made.__wrapped__) == ("energy", "The energy.", energy)
    assert list(inspect.signature(made).parameters) == ["x"]
    assert repr(made) == "<wg.grad of energy>"
    assert repr(wg.vmap(wg.grad(energy))) == "<wg.vmap of energy>"
    assert "energy" in repr(wg.compile(made))


def test_traced_code_goes_through_it_as_through_a_function() -> None:
    weight = np.array(2.0)
    cubes, slope = wg.vmap(lambda t: weight * t**3), wg.grad(lambda t: weight * t**3)

    def f(x: Any) -> Any:
        return np.sum(cubes(x)) + slope(x[0])

    _, (held, x_bar) = wg.grad(f, X)
    assert same(x_bar, 6 * X**2 + np.array([12 * X[0], 0.0, 0.0]))
    assert same(held["cubes"]["f"]["weight"], np.sum(X**3) + 3 * X[0] ** 2)  # one array, wherever it is held
    assert same(wg.grad(lambda x: sum(map(slope, [x, x])))(0.5), 2 * 12 * 0.5)
    assert same(wg.grad(wg.checkpoint(lambda x: slope(x)))(0.5), 12 * 0.5)
    assert same(wg.compile(wg.grad(lambda x: slope(x)), strict=True)(0.5), 12 * 0.5)
    assert same(wg.gradtape(lambda x: slope(x) * x, 0.5).play(0.5)[1][1], 18 * 0.5**2)
    assert wg.explain_call(slope).kind == wg.explain_call(slope.__func__).kind


def test_a_rule_for_it_is_its_own() -> None:
    made = wg.grad(energy)
    with wg.rules.scope():
        wg.rrule(made)(lambda x: (made(x), lambda y_bar: 100 * y_bar))
        assert made in wg.rules
        assert same(wg.grad(lambda x: np.sum(made(x)))(X), np.full(3, 100.0))
        assert same(wg.vjp(made, X)[1](np.ones(3))[0], np.full(3, 100.0))
    assert made not in wg.rules
    assert same(wg.grad(lambda x: np.sum(made(x)))(X), 6 * X)


def test_another_process_reads_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(x):\n    return x**3\n")
    write = "import pickle, sys, mine, wengert as w; sys.stdout.buffer.write(pickle.dumps(w.compile(w.grad(mine.f))))"
    read = "import pickle, sys; print(pickle.load(sys.stdin.buffer)(2.0))"
    root = Path(__file__).parents[2]
    environment = {"PYTHONPATH": f"{tmp_path}:{root / 'src'}:{root / 'rules'}", "OPENBLAS_NUM_THREADS": "1"}
    there = subprocess.run([sys.executable, "-c", write], env=environment, capture_output=True, check=True).stdout
    back = subprocess.run([sys.executable, "-c", read], env=environment, input=there, capture_output=True, check=True)
    assert back.stdout == b"12.0\n"


def test_the_table_of_rules_is_itself_wherever_it_arrives() -> None:
    assert pickle.loads(pickle.dumps(wg.rules)) is copy.deepcopy(wg.rules) is copy.copy(wg.rules) is wg.rules


def test_gradients_keep_their_names() -> None:
    _, gradients = wg.grad(energy, X)
    for other in (pickle.loads(pickle.dumps(gradients)), copy.deepcopy(gradients)):
        assert same(other["x"], 3 * X**2)
