"""Gradients of sums over chunks on a cluster of two processes: what travels, what is lost, what is held."""

from __future__ import annotations

import gc
import math
import os
import pickle
import signal
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_dask as local
import test_dask_descent as descent

import wengert as wg
from wengert import errors

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
cloudpickle = pytest.importorskip("cloudpickle")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    for module in (local, descent):
        cloudpickle.register_pickle_by_value(module)  # else the workers import pytest, to find it
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client
    for module in (local, descent):
        cloudpickle.unregister_pickle_by_value(module)


def notebook(text: str) -> dict[str, Any]:
    """The names that a cell of a notebook defines: no other process can import them, and there is no source."""
    names: dict[str, Any] = {"__name__": "__main__", "wg": wg, "np": np}
    exec(text, names)
    return names


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("chunks", [local.arrays, local.delayed, local.plain, local.made_by_a_bag])
def test_it_is_the_gradient_of_the_whole(client: Any, chunks: Any, compiled: bool) -> None:
    f, given = chunks(50)
    local.check(wg.dask.value_and_grad(f, compiled=compiled)(local.P, *given))


def test_its_bits_are_those_of_one_process(client: Any) -> None:
    f, given = local.arrays(3)
    found = [wg.dask.value_and_grad(f)(local.P, *given)]
    with dask.config.set(scheduler="synchronous"):
        found.append(wg.dask.value_and_grad(f)(local.P, *given))
    assert found[0][0] == found[1][0]
    assert found[0][1]["w"].tobytes() == found[1][1]["w"].tobytes()


def test_chunks_may_be_futures(client: Any) -> None:
    futures = client.scatter([(local.X[:40], local.Y[:40]), (local.X[40:], local.Y[40:])])
    local.check(wg.dask.value_and_grad(local.loss_of_pair)(local.P, futures))


def test_a_gradient_may_be_written(client: Any) -> None:
    for parts in ([1.0], [1.0, 2.0]):
        _, gradient = wg.dask.value_and_grad(lambda p, x: np.sum(p) * x)(np.ones(3), parts)
        gradient *= 2
        assert gradient.tolist() == [2 * sum(parts)] * 3


CELL = """
from math import lgamma
rate = 1.0
class Model:
    def __init__(self, w):
        self.w = w
    def energy(self, x):
        return self.w * x
def wave(x):
    return np.round(x)
@wg.rrule(wave)
def wave_rule(x):
    return wave(x), lambda y_bar: 10 * y_bar
@wg.rrule(Model.energy)
def energy_rule(self, x):
    return Model.energy(self, x), lambda y_bar: (None, 100 * y_bar)
wg.rules.remove(lgamma)
@wg.partials(lgamma)
def lgamma_rule(y, x):
    return 1000.0
def loss(p, x):
    return rate * (wave(p) + model.energy(p) + lgamma(p)) * x
model = Model(2.0)
def without_rules(p, x):
    return rate * np.sin(p) * x
@wg.grad
def slope(p):
    return wave(p) * p
"""


@pytest.mark.parametrize("compiled", [False, True])
def test_rules_of_a_notebook_go_along_and_what_changes_there_does(client: Any, compiled: bool) -> None:
    """They state no real derivatives, so that each of them is seen."""
    with wg.rules.scope():
        names = notebook(CELL)
        g = wg.dask.value_and_grad(names["loss"], compiled=compiled)
        for names["rate"] in (1.0, 3.0):
            assert g(2.0, [1.0, 1.0])[1] == names["rate"] * 2 * 1110.0
        wg.rules.remove(math.lgamma)
        wg.partials(math.lgamma)(notebook("def other(y, x):\n    return 5000.0")["other"])
        assert g(2.0, [1.0, 1.0])[1] == 3.0 * 2 * 5110.0


def test_any_function_can_be_packed(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with wg.rules.scope():
        names = notebook(CELL)
        monkeypatch.setattr(sys.modules["__main__"], "slope", names["slope"], raising=False)  # as in a real notebook
        assert client.submit(wg.dask.packed(names["slope"]), 2.0).result() == 2.0 + 20.0
        g = wg.dask.packed(wg.compile(wg.grad(names["without_rules"]), strict=True))
        assert client.gather(client.map(g, [2.0, 2.5], x=3.0)) == pytest.approx(3 * np.cos([2.0, 2.5]))


def test_it_is_compiled_once_in_each_process(client: Any) -> None:
    f, given = local.arrays(10)
    g = wg.dask.value_and_grad(f, compiled=True)
    for _ in range(3):
        local.check(g(local.P, *given))

    def told() -> list[str]:
        import gc

        return [v.explain().splitlines()[0] for v in gc.get_objects() if type(v).__name__ == "CompiledFunction"]

    assert [
        sum(line.endswith("loss: compiled (NumPy), 1 trace") for line in lines) for lines in client.run(told).values()
    ] == [1, 1]


def test_a_loss_goes_as_it_was_written_while_a_thread_traces_it(client: Any) -> None:
    inside, done = threading.Event(), threading.Event()

    def loss(p: Any, x: Any) -> Any:
        return np.sum(np.sin(p * x))

    def slow(p: Any) -> Any:
        value = loss(p, 1.0)
        inside.set()
        assert done.wait(300)
        return value

    thread = threading.Thread(target=wg.grad(slow), args=(2.0,))
    thread.start()
    assert inside.wait(300)
    try:
        _, gradient = wg.dask.value_and_grad(loss)(2.0, [1.0, 3.0])
    finally:
        done.set()
        thread.join()
    assert gradient == pytest.approx(np.cos(2.0) + 3 * np.cos(6.0), rel=1e-13)


def test_what_cannot_travel_is_named(client: Any) -> None:
    lock = threading.Lock()
    with pytest.raises(wg.ArgumentError, match=r"<lambda> reads an object that cannot be pickled .*lock"):
        wg.dask.value_and_grad(lambda p, x: p * x if lock else p)(2.0, [1.0])


def test_the_errors_of_a_loss_come_back_with_its_line(client: Any) -> None:
    with pytest.raises(wg.NoRuleError, match=r":\d+ in test_the_errors_of_a_loss_come_back_with_its_line.*tobytes"):
        wg.dask.value_and_grad(lambda p, x: p[0] * len(p.tobytes()))(np.ones(2), [1.0])


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_can_travel(name: str) -> None:
    error = getattr(errors, name)("what happened")
    assert str(pickle.loads(pickle.dumps(error))) == "what happened"


def test_aux_products_and_blocks_are_those_of_one_process(client: Any) -> None:
    def on_each() -> list[Any]:
        (value, aux), gradient = wg.dask.value_and_grad(local.wave_with_rows, has_aux=True)(p, *given)
        product = wg.dask.hvp(local.wave)(p, {"w": np.ones(3), "b": -1.0}, *given)
        field = wg.dask.value_and_grad(local.misfit, blocks=True)(np.array([0.7, 0.2]), *blocks)
        return [value, aux, gradient["w"].tobytes(), gradient["b"], product["w"].tobytes(), field[1].tobytes()]

    p, (_, given) = {"w": local.P["w"], "b": 0.5}, local.arrays(30)
    blocks = [local.da.from_array(data, chunks=(4, 3)) for data in (local.FIELD, local.MASK)]
    found = on_each()
    assert found[1] == [30, 30, 30, 10]
    with dask.config.set(scheduler="synchronous"):
        assert found == on_each()


def test_progress_is_shown_by_dask(client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    f, given = local.arrays(30)
    local.check(wg.dask.value_and_grad(f, progress=True)(local.P, *given))
    assert "100% Completed" in capsys.readouterr().out
    with pytest.raises(wg.NoRuleError, match="tobytes"):
        wg.dask.value_and_grad(lambda p, x: p[0] * len(p.tobytes()), progress=True)(np.ones(2), [1.0])


def test_a_chunk_that_fails_once_is_tried_again(client: Any, tmp_path: Path) -> None:
    def load(k: int, folder: Path) -> float:
        if k == 2 and not (folder / "failed").exists():
            (folder / "failed").touch()
            raise OSError("the disk was busy")
        return float(k)

    for retries, folder in ((0, tmp_path / "a"), (1, tmp_path / "b")):
        folder.mkdir()
        g = wg.dask.value_and_grad(lambda p, x: p * x, retries=retries)
        parts = [dask.delayed(load)(k, folder) for k in range(4)]
        if retries:
            assert g(2.0, parts) == (12.0, 6.0)
        else:
            with pytest.raises(OSError, match="busy"):
                g(2.0, parts)


def peak(work: Callable[[], Any]) -> int:
    """The bytes that are held at most by this process during some work."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_the_client_holds_does_not_grow_with_the_chunks(client: Any) -> None:
    """Twenty more gradients would be 20; the scheduler, which is in this process too, has a few messages in hand."""
    p = np.ones(100_000)
    g = wg.dask.value_and_grad(lambda p, x: np.sum(p * x))

    def parts(n: int) -> list[Any]:
        return [dask.delayed(np.full)(len(p), float(k)) for k in range(n)]

    g(p, parts(2))
    few, many = (peak(lambda n=n: g(p, parts(n))) for n in (4, 24))
    assert many - few < 5 * p.nbytes


def test_a_worker_that_is_lost_is_made_up_for(client: Any, tmp_path: Path) -> None:
    """Half of the chunks wait; when both processes do, one is killed, with all that it has computed."""

    def load(k: int, folder: Path) -> np.ndarray:
        (folder / str(os.getpid())).touch()
        while k >= 8 and not (folder / "go").exists():
            time.sleep(0.01)
        return np.full(3, float(k))

    found: list[Any] = []
    parts = [dask.delayed(load)(k, tmp_path) for k in range(16)]
    work = wg.dask.value_and_grad(lambda p, x: np.sum(p * x))
    thread = threading.Thread(target=lambda: found.append(work(np.ones(3), parts)))
    thread.start()
    deadline = time.monotonic() + 300
    while len(pids := {int(f.name) for f in tmp_path.iterdir() if f.name.isdigit()}) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(min(pids), signal.SIGKILL)
    (tmp_path / "go").touch()
    thread.join(300)
    value, gradient = found[0]
    assert value == 3 * sum(range(16))
    assert gradient.tolist() == [120.0] * 3


KILLED_IN_STEP_FIVE = """
import os, signal, sys
from pathlib import Path
import cloudpickle, distributed
sys.path.insert(0, sys.argv[1])
import test_dask_descent as descent

def kill(step, value, params):
    if step == 2:
        os.kill(int(sys.argv[4]), signal.SIGKILL)
    if step == 5:
        os.kill(os.getpid(), signal.SIGKILL)

cloudpickle.register_pickle_by_value(descent)
with distributed.Client(sys.argv[3]):
    descent.run(Path(sys.argv[2]), every=2, callback=kill)
"""


def test_steps_survive_a_worker_and_the_client(client: Any, tmp_path: Path) -> None:
    """A client runs on this cluster, kills a worker and then itself. Another one goes on, to the same bits."""
    file, worker = tmp_path / "steps", min(client.run(os.getpid).values())
    args = descent.TESTS, file, client.scheduler.address, worker
    assert descent.run_program(KILLED_IN_STEP_FIVE, *args) == -signal.SIGKILL
    assert worker not in client.run(os.getpid).values()
    seen: list[int] = []
    found = descent.run(file, callback=lambda step, value, p: seen.append(step))
    assert seen == [6, 7, 8]
    with dask.config.set(scheduler="synchronous"):
        assert descent.bits(found) == descent.bits(descent.run(None))
