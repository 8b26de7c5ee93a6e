"""Steps of an optimiser with a checkpoint: the numbers of the formula, and the same bits after every interruption."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

TESTS = Path(__file__).parent
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(100, 3)), RNG.normal(size=100)
START = {"w": np.array([1.0, -2.0, 0.5]), "b": np.float32(0.5), "name": "line"}
STEPS = 9


def loss(p: Any, x: Any, y: Any) -> Any:
    return np.sum((np.tanh(x @ p["w"]) + p["b"] - y) ** 2)


def objective(p: Any, step: int) -> Any:
    """Of all chunks but one, another one in each step."""
    chunks = [(X[k : k + 20], Y[k : k + 20]) for k in range(0, 100, 20) if k != step % 5 * 20]
    return wg.dask.value_and_grad(loss)(p, [x for x, _ in chunks], [y for _, y in chunks])


def run(file: Path | None, **options: Any) -> Any:
    optimiser = wg.optim.adam(wg.optim.cosine(0.1, STEPS))
    return wg.dask.descend(objective, START, optimiser, STEPS, checkpoint=file, **options)


def bits(p: Any) -> Any:
    return p["w"].tobytes(), p["b"].tobytes(), type(p["b"]), p["name"]


def test_it_takes_the_steps_of_the_formula() -> None:
    """Gradient descent on a square, x ← x - η 2 a (x - c): the error shrinks by 1 - 2 a η in each step."""
    a, c, eta, seen = 3.0, np.array([1.0, -2.0]), 0.05, []
    gradient = wg.dask.value_and_grad(lambda p, part: part * np.sum((p - c) ** 2))

    def note(step: int, value: Any, p: Any) -> None:
        seen.append((step, float(value), p))

    found = wg.dask.descend(
        lambda p, step: gradient(p, [1.0, 2.0]), np.zeros(2), wg.optim.sgd(eta), steps=5, callback=note
    )
    errors = [(1 - 2 * a * eta) ** k * c for k in range(6)]
    np.testing.assert_allclose(found, c - errors[5], rtol=1e-14)
    assert [step for step, *_ in seen] == [0, 1, 2, 3, 4]
    np.testing.assert_allclose([value for _, value, _ in seen], [a * e @ e for e in errors[:5]], rtol=1e-14)
    np.testing.assert_allclose([p for *_, p in seen], [c - e for e in errors[1:]], rtol=1e-14)


@pytest.mark.parametrize("every", [1, 2, 4])
@pytest.mark.parametrize("stop", [0, 3, 8])
def test_it_resumes_with_the_same_bits(tmp_path: Path, stop: int, every: int) -> None:
    def interrupt(step: int, value: Any, p: Any) -> None:
        if step == stop:
            raise KeyboardInterrupt

    seen: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "steps", every=every, callback=interrupt)
    found = run(tmp_path / "steps", every=every, callback=lambda step, value, p: seen.append(step))
    stored = STEPS if stop == STEPS - 1 else (stop + 1) // every * every
    assert seen == [*range(stored, STEPS)]
    assert bits(found) == bits(run(None))
    assert bits(run(tmp_path / "steps")) == bits(found)
    assert [file.name for file in tmp_path.iterdir()] == ["steps"]


KILLED_IN_THE_FIFTH_WRITE = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import test_dask_descent as test

written, plainly = [], Path.replace
def replace(new, file):
    written.append(file)
    if len(written) == 5:
        new.write_bytes(b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    return plainly(new, file)
Path.replace = replace
test.run(Path(sys.argv[2]))
"""


def test_a_process_that_is_killed_while_it_writes_leaves_the_last_file(tmp_path: Path) -> None:
    assert run_program(KILLED_IN_THE_FIFTH_WRITE, TESTS, tmp_path / "steps") == -signal.SIGKILL
    assert (tmp_path / "steps.new").read_bytes() == b"half of it"
    assert pickle.loads((tmp_path / "steps").read_bytes())[0] == 3
    assert bits(run(tmp_path / "steps")) == bits(run(None))


def run_program(text: str, *args: Any) -> int:
    """Run a program in a process of its own, and return its exit status."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", text, *map(str, args)], env=environment, timeout=300).returncode


def test_a_file_of_another_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "steps"
    run(file)
    others: list[Any] = [{**START, "w": np.ones(4)}, {"w": START["w"]}, np.ones(3), {**START, "more": 1.0}]
    others.append({**START, "b": 0.5})
    for other in others:
        with pytest.raises(wg.ArgumentError, match=r"has parameters of another structure, shape or dtype\. Remove"):
            wg.dask.descend(objective, other, wg.optim.adam(), STEPS, checkpoint=file)
    with pytest.raises(wg.ArgumentError, match="has the state of another optimiser"):
        wg.dask.descend(objective, START, wg.optim.momentum(0.1), STEPS, checkpoint=file)
    with pytest.raises(wg.ArgumentError, match=r"has 9 steps, more than steps=4"):
        wg.dask.descend(objective, START, wg.optim.adam(), 4, checkpoint=file)


def test_what_cannot_be_stored_is_said_before_the_first_step(tmp_path: Path) -> None:
    def no_step(p: Any, step: int) -> Any:
        raise AssertionError("a step was taken")

    with pytest.raises((pickle.PicklingError, AttributeError, TypeError), match=r"(?i)pickle|local object"):
        wg.dask.descend(no_step, {"w": 1.0, "f": lambda: 1}, wg.optim.sgd(0.1), 3, checkpoint=tmp_path / "steps")
    assert not (tmp_path / "steps").exists()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_not_finite_ends_it_and_is_not_stored(tmp_path: Path, bad: float) -> None:
    for number in (lambda step: (bad, 1.0), lambda step: (1.0, bad)):
        file = tmp_path / str(len([*tmp_path.iterdir()]))
        with pytest.raises(wg.NonFiniteError, match=r"step 2: the objective returned .* NaN or an infinity"):
            wg.dask.descend(
                lambda p, step: number(step) if step == 2 else (1.0, 2.0), 5.0, wg.optim.sgd(0.25), 9, checkpoint=file
            )
        assert pickle.loads(file.read_bytes())[:2] == (2, 4.0)


def test_the_number_of_steps_between_files_is_checked() -> None:
    with pytest.raises(wg.ArgumentError, match="every must be at least 1, not 0"):
        run(None, every=0)


def value_at(w: Any, stop: int, calls: list[int]) -> Any:
    calls.append(1)
    if len(calls) > stop:
        raise KeyboardInterrupt
    value, gradient = wg.dask.value_and_grad(loss)({"w": w, "b": 0.5}, [X[:50], X[50:]], [Y[:50], Y[50:]])
    return value, gradient["w"]


def test_stored_evaluations_resume_lbfgs(tmp_path: Path) -> None:
    """The recipe of the page on Dask: joblib stores each evaluation, and L-BFGS repeats its steps with these."""
    joblib, optimize = pytest.importorskip("joblib"), pytest.importorskip("scipy.optimize")
    stored = joblib.Memory(tmp_path, verbose=0).cache(value_at, ignore=["stop", "calls"])

    def fit(objective: Any, stop: int, calls: list[int]) -> Any:
        return optimize.minimize(objective, START["w"], args=(stop, calls), jac=True, method="L-BFGS-B")

    with pytest.raises(KeyboardInterrupt):
        fit(stored, 4, [])
    resumed, calls = fit(stored, 1000, again := []), []
    assert resumed.x.tobytes() == fit(value_at, 1000, calls).x.tobytes()
    assert len(calls) == len(again) + 4
