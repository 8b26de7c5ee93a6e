"""Compiled functions that change something outside, print or warn: they leave what the plain function leaves.

Each program is made twice: the plain function is called on each input, and the compiled gradient of the other one. What
can be observed must be the same after each call: state, lists, output and warnings.
"""

from __future__ import annotations

import collections
import contextlib
import io
import logging
import string
import sys
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from changed_outside import spaces_of

import wengert as wg

X = np.random.default_rng(5).normal(size=(6, 3))
INPUTS = [np.array([0.5, 1.5, 2.5]) + k for k in (0.0, 0.25, -2.0, 3.0, 0.125, -1.0, 0.5, 2.0, 7.0, 1.0)]


class Program(NamedTuple):
    """A function of an array, and what can be observed of its effects."""

    f: Callable[..., Any]
    state: Callable[[], Any]


PROGRAMS: dict[str, Callable[[], Program]] = {}
UNCOMPILED: dict[str, Callable[[], Program]] = {}


def compiled(make: Callable[[], Program]) -> Callable[[], Program]:
    PROGRAMS[make.__name__] = make
    return make


def uncompiled(make: Callable[[], Program]) -> Callable[[], Program]:
    """Where the function reads what it changes in a way that wengert does not follow: right all the same."""
    UNCOMPILED[make.__name__] = make
    return make


class Part:
    def __init__(self) -> None:
        self.scale, self.seen = 2.0, 0


class Model:
    """A model with some state."""

    def __init__(self) -> None:
        self.calls, self.last, self.best, self.velocity, self.total = 0, None, np.inf, np.zeros(3), 0.0
        self.losses: list[Any] = []
        self.parts = Part()


def of_model(f: Callable[[Any, Any], Any], model_class: type = Model) -> Program:
    model = model_class()
    return Program(lambda w: f(model, w), lambda: {**vars(model), "parts": {**vars(model.parts)}})


def loss(w: Any) -> Any:
    return np.sum((X @ w) ** 2)


@compiled
def counts_calls() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.calls += 1
        return loss(w)

    return of_model(f)


@compiled
def scales_by_its_count() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.calls += 1
        return loss(w) / (1 + model.calls)

    return of_model(f)


@compiled
def keeps_the_last_parameters() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.last = w
        model.residual = X @ model.last
        return np.sum(model.residual**2)

    return of_model(f)


@compiled
def keeps_the_best() -> Program:
    def f(model: Any, w: Any) -> Any:
        found = loss(w)
        if found < model.best:
            model.best, model.last = found, w.copy()
        return found

    return of_model(f)


@compiled
def has_momentum() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.velocity = 0.5 * model.velocity + w
        model.total += float(w[0])
        return np.sum(model.velocity**2) + model.total

    return of_model(f)


@compiled
def sets_what_is_there_already() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.calls += 1
        model.last = w[0] if w[0] < 0 else "positive"
        return loss(w)

    return of_model(f)


@compiled
def swaps_two_attributes() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.last, model.velocity = model.velocity, 2 * w
        return np.sum(model.last**2) + loss(w)

    return of_model(f)


@compiled
def changes_a_part() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.parts.seen += 1
        model.parts.scale = model.parts.scale * 1.5
        return model.parts.scale * loss(w)

    return of_model(f)


@compiled
def deletes_and_sets() -> Program:
    def f(model: Any, w: Any) -> Any:
        del model.last
        model.last = w[0]
        model.temporary = 1.0
        del model.temporary
        return loss(w) * model.last

    return of_model(f)


class Checked(Model):
    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, "last_set", name)
        object.__setattr__(self, name, value)


@compiled
def sets_by_its_own_method() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.last = 3 * w
        return loss(model.last)

    return of_model(f, Checked)


class WithProperty(Model):
    @property
    def weights(self) -> Any:
        return self.last

    @weights.setter
    def weights(self, value: Any) -> None:
        self.last = 2 * value


@compiled
def sets_a_property() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.weights = w
        return loss(model.weights)

    return of_model(f, WithProperty)


class Slotted:
    __slots__ = ("count", "last")

    def __init__(self) -> None:
        self.count = 0


@compiled
def sets_slots() -> Program:
    model = Slotted()

    def f(w: Any) -> Any:
        model.count += 2
        model.last = w[1] * model.count
        return loss(w) * model.last

    return Program(f, lambda: (model.count, getattr(model, "last", None)))


@compiled
def appends_losses() -> Program:
    def f(model: Any, w: Any) -> Any:
        found = loss(w)
        model.losses.append(found)
        model.losses.append(float(found))
        return found

    return of_model(f)


@compiled
def appends_to_a_closure() -> Program:
    seen: list[Any] = []

    def f(w: Any) -> Any:
        for k in range(3):
            seen.append((k, {"w": w[k] * 2}, "kept", w))
        return loss(w)

    return Program(f, lambda: seen)


@compiled
def appends_what_it_changes_later() -> Program:
    seen: list[Any] = []

    def f(w: Any) -> Any:
        a = 2 * w
        seen.append(a)
        a[1] = w[0]
        return loss(a)

    return Program(f, lambda: seen)


@compiled
def assigns_an_outer_variable() -> Program:
    count, last = 0, None

    def f(w: Any) -> Any:
        nonlocal count, last
        count, last = count + 1, w[0] + (0 if last is None else last)
        return loss(w) * last

    return Program(f, lambda: (count, last))


@compiled
def assigns_globals() -> Program:
    space: dict[str, Any] = {"np": np, "X": X, "count": 0}
    exec(
        "def f(w):\n    global count, last\n    count += 1\n    last = np.sum((X @ w) ** 2)\n    return last * count\n",
        space,
    )
    return Program(space["f"], lambda: (space["count"], space.get("last")))


@compiled
def prints() -> Program:
    def f(w: Any) -> Any:
        found = loss(w)
        print("loss", found, w, end=";\n")
        print(f"{found:.3f} of {w.shape}", "%.2e" % found, "{:g}".format(w[0]), file=sys.stderr)  # noqa: UP031, UP032
        return found

    return Program(f, lambda: None)


@compiled
def prints_every_third_call() -> Program:
    def f(model: Any, w: Any) -> Any:
        found = loss(w)
        model.calls += 1
        if model.calls % 3 == 0:
            print(model.calls, found)
        return found

    return of_model(f)


@compiled
def prints_its_count() -> Program:
    def f(model: Any, w: Any) -> Any:
        found = loss(w)
        model.calls += 1
        print(f"{model.calls}: {found:.2f}", "%d of %s" % (model.calls, "many"), str(model.calls))  # noqa: UP031
        model.last = f"{model.calls}"
        return found

    return of_model(f)


@compiled
def counts_and_prints_a_list_that_it_changes_later() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.calls += 1
        parts = [w[0]]
        print(parts, "of", w)
        parts.append(w[1])
        return loss(w) * sum(parts)

    return of_model(f)


@uncompiled
def counts_and_prints_an_array_that_it_changes_later() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.calls += 1
        a = 2 * w
        print(a)
        a[1] = w[0]
        return loss(a)

    return of_model(f)


@compiled
def warns() -> Program:
    def deeper(w: Any) -> None:
        if w[0] < 0:
            warnings.warn("negative weight", stacklevel=2)

    def f(w: Any) -> Any:
        deeper(w)
        if np.max(w) > 5:
            warnings.warn(f"large: {np.max(w):.2f}", RuntimeWarning)  # noqa: B028
        return loss(w)

    return Program(f, lambda: None)


LOG = logging.getLogger("test_effects")


@compiled
def logs() -> Program:
    def f(w: Any) -> Any:
        found = loss(w)
        LOG.info("loss %s", found)
        LOG.warning(f"{w[0]:.2f}")
        LOG.debug("unseen %s", w)
        return found

    return Program(f, lambda: None)


class Scaled:
    factor = 2.0

    def __init__(self, value: Any) -> None:
        self.value = value

    def times(self, other: Scaled) -> Any:
        LOG.info("%s times %s", self.value, other.value)
        LOG.debug("unseen %s %s", self, other)
        return self.product(other)

    def product(self, other: Scaled) -> Any:
        return np.sum(self.value * self.factor * other.value * other.factor)


@compiled
def logs_objects_that_it_makes() -> Program:
    return Program(lambda w: Scaled(w).times(Scaled(w * w)), lambda: None)


@compiled
def prints_in_a_loop() -> Program:
    def f(w: Any) -> Any:
        y = w
        for k in range(4):
            y = np.sin(y)
            print(k, y[0])
        return loss(y)

    return Program(f, lambda: None)


@compiled
def steps_its_state() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.velocity = 0.1 * w
        for _ in range(20):
            model.velocity = model.velocity + 0.01 * np.cos(model.velocity) * w
            model.total = model.total + 0.5 * model.velocity[0]
        return np.sum(model.velocity**2) + model.total

    return of_model(f)


@compiled
def fills_a_cache() -> Program:
    cache: dict[str, Any] = {}

    def f(w: Any) -> Any:
        if "gram" not in cache:
            cache["gram"] = X.T @ X
        return w @ cache["gram"] @ w

    return Program(f, lambda: cache)


@compiled
def raises_midway() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.calls += 1
        print("called")
        if w[0] > 5:
            raise ValueError("too large")
        model.last = w
        return loss(w)

    return of_model(f)


@compiled
def has_a_nan() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.calls += 1
        print("called", model.calls)
        return np.sum(np.log(w))

    return of_model(f)


@compiled
def changes_its_own_object() -> Program:
    seen: list[Any] = []

    def f(w: Any) -> Any:
        model = Model()
        model.calls += 1
        seen.append(model.calls)
        return loss(w) * model.calls

    return Program(f, lambda: seen)


@uncompiled
def reads_the_list_it_appends_to() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.losses.append(float(loss(w)))
        return loss(w) * len(model.losses) + np.mean(model.losses[:3])

    return of_model(f)


@compiled
def prints_before_it_reads_what_it_appends_to() -> Program:
    def f(model: Any, w: Any) -> Any:
        print("loss", loss(w))
        model.losses.append(w[0])
        return loss(w) * len(model.losses)

    return of_model(f)


@compiled
def draws_before_it_reads_what_it_appends_to() -> Program:
    rng = np.random.default_rng(1)

    def f(model: Any, w: Any) -> Any:
        model.last = rng.normal()
        model.losses.append(w[0])
        return loss(w) * len(model.losses)

    return of_model(f)


@compiled
def asks_whether_its_list_is_empty() -> Program:
    def f(model: Any, w: Any) -> Any:
        if model.losses and model.losses[-1] > 3.0:
            w = 2 * w
        model.losses.append(loss(w))
        return loss(w)

    return of_model(f)


@uncompiled
def prints_and_draws_before_a_mean_of_what_it_appends_to() -> Program:
    rng = np.random.default_rng(1)

    def f(model: Any, w: Any) -> Any:
        print("loss", loss(w))
        model.last = rng.normal()
        model.losses.append(w[0])
        return loss(w) * np.mean(model.losses)

    return of_model(f)


@compiled
def bounds_its_count() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.calls += 1
        return loss(w) * min(model.calls, 4) + max(3, model.calls, 1)

    return of_model(f)


@compiled
def indexes_by_its_count() -> Program:
    table = [1.0, 2.0, 3.0, 4.0]

    def f(model: Any, w: Any) -> Any:
        model.calls += 1
        return loss(w) * table[model.calls % 4]

    return of_model(f)


@uncompiled
def prints_what_it_changes_later() -> Program:
    def f(w: Any) -> Any:
        a = 2 * w
        print(a)
        a[1] = w[0]
        return loss(a)

    return Program(f, lambda: None)


@uncompiled
def reads_all_of_what_it_changed() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.last = w
        return loss(vars(model)["last"])

    return of_model(f)


@compiled
def changes_a_namespace() -> Program:
    space = types.SimpleNamespace(count=0)

    def f(w: Any) -> Any:
        space.count += 1
        return loss(w) * space.count

    return Program(f, lambda: vars(space))


@uncompiled
def counts_in_its_class() -> Program:
    class Counting(Model):
        count = 0

    def f(model: Any, w: Any) -> Any:
        type(model).count += 1
        return loss(w) * model.count

    program = of_model(f, Counting)
    return Program(program.f, lambda: (program.state(), Counting.count))


@compiled
def writes_into_a_dictionary() -> Program:
    log: dict[Any, Any] = {"n": 0, "sum": 0.0, "kept": "a"}

    def f(w: Any) -> Any:
        log["n"] += 1
        log["sum"] += float(w[0])
        log["last"] = w.copy()
        log[log["kept"]] = [w[1], {"w": w}]
        log.pop("absent", None)
        return loss(w) * log["n"] + log["sum"]

    return Program(f, lambda: log)


@compiled
def deletes_from_a_dictionary() -> Program:
    log: dict[Any, Any] = {}

    def f(w: Any) -> Any:
        log["a"] = w[0]
        found = loss(w) * log.pop("a")
        log.update(b=found, c=w)
        del log["b"]
        return found

    return Program(f, lambda: log)


@compiled
def logs_into_a_default_dictionary() -> Program:
    log: Any = collections.defaultdict(list)

    def f(model: Any, w: Any) -> Any:
        log["loss"].append(loss(w))
        log["size"].append(w[0])
        return loss(w)

    program = of_model(f)
    return Program(program.f, lambda: (dict(log), program.state()))


@compiled
def layers_cache_their_inputs() -> Program:
    layers: list[Any] = [{"w": np.eye(3) * k, "cache": {}} for k in (1.0, 2.0)]

    def f(w: Any) -> Any:
        x: Any = X * w
        for layer in layers:
            layer["cache"]["x"] = x
            x = np.tanh(x @ layer["w"])
        return np.sum(x**2)

    return Program(f, lambda: layers)


@compiled
def counts_in_a_decorator() -> Program:
    def inner(w: Any) -> Any:
        return loss(w)

    def f(w: Any) -> Any:
        inner.calls += 1  # type: ignore[attr-defined]
        inner.last = w[0]  # type: ignore[attr-defined]
        return inner(w) * inner.calls  # type: ignore[attr-defined]

    inner.calls = 0  # type: ignore[attr-defined]
    return Program(f, lambda: {**vars(inner)})


@uncompiled
def extends_lists() -> Program:
    def f(model: Any, w: Any) -> Any:
        model.losses.extend([loss(w), w[0]])
        model.losses += [1.0]
        return loss(w)

    return of_model(f)


@uncompiled
def keeps_every_input() -> Program:
    cache: dict[Any, Any] = {}

    def f(w: Any) -> Any:
        key = float(w[0])
        if key not in cache:
            cache[key] = loss(w)
        return loss(w)

    return Program(f, lambda: cache)


def frozen(thing: Any) -> Any:
    """A copy of a state, to compare: types, and the bits of numbers."""
    if isinstance(thing, np.ndarray):
        return type(thing).__name__, thing.dtype.str, thing.shape, thing.tobytes()
    if isinstance(thing, (list, tuple)):
        return type(thing), [frozen(part) for part in thing]
    if isinstance(thing, dict):
        return [(frozen(key), frozen(part)) for key, part in thing.items()]
    return type(thing), repr(thing)


def observed(run: Callable[[Any], Any], program: Program, w: Any) -> tuple[Any, Any]:
    """The result of a call, and all that it left: state, output, warnings, records of loggers, the exception."""
    out, err, records, result = io.StringIO(), io.StringIO(), list[logging.LogRecord](), None
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    raised = ""
    with warnings.catch_warnings(record=True) as warned, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                result = run(w)
            except ValueError as error:
                raised = str(error)
    LOG.removeHandler(handler)
    said = [(str(one.message), one.category, one.filename, one.lineno) for one in warned]
    logged = [(record.getMessage(), record.pathname, record.lineno, record.funcName) for record in records]
    return result, (frozen(program.state()), out.getvalue(), err.getvalue(), said, logged, raised)


@pytest.mark.parametrize("name", [*PROGRAMS, *UNCOMPILED])
def test_compiled_code_leaves_what_the_function_leaves(name: str) -> None:
    make = {**PROGRAMS, **UNCOMPILED}[name]
    plain, other, traced = make(), make(), make()
    gradient = wg.compile(wg.grad(traced.f), exact=True, quiet=True)
    for k, w in enumerate(INPUTS):
        _, left = observed(plain.f, plain, w.copy())
        expected, _ = observed(wg.grad(other.f), other, w.copy())
        found, kept = observed(gradient, traced, w.copy())
        kept = (*kept[:3], [one for one in kept[3] if one[1] is not wg.NotCompiledWarning], *kept[4:])
        assert kept == left, f"call {k}"
        if expected is not None:
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert ("runs uncompiled" in gradient.explain()) == (name in UNCOMPILED), gradient.explain()


TABLE = np.random.default_rng(6).normal(size=(50, 3))
NUMBERED = [
    (lambda w, rows: np.sum((TABLE[rows] @ w) ** 2), lambda rng, k: rng.integers(0, 50, 8)),
    (lambda w, rows: np.sum(w[rows % 3] * rows), lambda rng, k: rng.integers(0, 50, 4)),
    (lambda w, labels: np.sum(np.where(labels == 1, 1.0, -1.0) * (TABLE @ w)), lambda rng, k: rng.integers(0, 2, 50)),
    (lambda w, rows: sum([w[k] ** 2 for k in rows]), lambda rng, k: rng.integers(0, 3, 4)),
    (lambda w, step: np.sum(w**2) / (1 - 0.9**step), lambda rng, k: k + 1),
    (lambda w, k: np.sum(w * np.eye(20)[k][:3]) + k * w[0], lambda rng, k: k),
    (lambda w, n: np.sum(w[: n % 4]) * n, lambda rng, k: k),
    (lambda w, n: np.sum(np.ones(n)) * w[0], lambda rng, k: k),
    (lambda w, rows: np.sum(np.zeros(rows)) + rows.size * w[0], lambda rng, k: rng.integers(1, 4, 2)),
    (lambda w, rows: np.sum(w) * len(np.unique(rows)), lambda rng, k: rng.integers(0, 9, 6)),
]


@pytest.mark.parametrize("case", range(len(NUMBERED)))
def test_integers_that_change_at_each_call(case: int) -> None:
    """After three values, integers and arrays of them are inputs where the tape can compute with them."""
    f, draw = NUMBERED[case]
    rng, gradient = np.random.default_rng(case), wg.compile(wg.grad(f), quiet=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wg.NotCompiledWarning)
        for k in range(12):
            w, numbers = rng.normal(size=3), draw(rng, k)
            np.testing.assert_allclose(gradient(w, numbers), wg.grad(f)(w, numbers), rtol=1e-11, atol=1e-12)
    if case < 6:
        assert "3 traces" in gradient.explain()


GIVING_UP = """
import time
knob, log = 1, []
def g(): log.append("third")
def f(x):
  log.append("first")
  print("one")
  if knob == 2: time.time()
  print("two")
  log.append("second")
  g()
  return x * len(log)
"""


def test_effects_keep_their_order_in_a_trace_that_gives_up(capsys: pytest.CaptureFixture[str]) -> None:
    space, plain = spaces_of(GIVING_UP)
    compiled = wg.compile(space["f"], quiet=True)
    for knob in (1, 1, 1, 2, 2):
        space["knob"] = plain["knob"] = knob
        assert compiled(1.0) == plain["f"](1.0)
        assert space["log"] == plain["log"]
        assert capsys.readouterr().out == "one\ntwo\n" * 2


def test_numbers_are_saved_at_each_call(tmp_path: Path) -> None:
    def f(x):
        v = np.sin(x * np.ones(3))
        np.save(tmp_path / "v.npy", v)
        np.savez(f"{tmp_path}/v.npz", v=v, x=x)
        np.savetxt(f"{tmp_path}/v.txt", v, fmt="%.17g")
        sys.stdout.flush()
        time.sleep(0.0)
        return np.sum(v)

    g = wg.compile(wg.grad(f), strict=True)
    for x in (0.3, 0.5, 0.7, 0.9):
        assert g(x) == pytest.approx(3.0 * np.cos(x), rel=1e-14)
        saved = np.load(tmp_path / "v.npz")
        assert saved["x"] == x
        for found in (np.load(tmp_path / "v.npy"), np.loadtxt(tmp_path / "v.txt"), saved["v"]):
            assert np.array_equal(found, np.sin(x * np.ones(3)))


def test_numbers_that_are_saved_and_written_later_run_uncompiled(tmp_path: Path) -> None:
    def f(x):
        v = np.sin(x * np.ones(3))
        np.save(f"{tmp_path}/v.npy", v)
        v[0] = 3.0 * x
        return np.sum(v)

    g = wg.compile(wg.grad(f), quiet=True)
    with pytest.warns(wg.NotCompiledWarning):
        g(0.3)
    assert g(0.5) == pytest.approx(3.0 + 2.0 * np.cos(0.5), rel=1e-14)
    assert np.array_equal(np.load(tmp_path / "v.npy"), np.sin(0.5 * np.ones(3)))


@pytest.mark.parametrize("delete", [delattr, object.__delattr__])
def test_an_attribute_that_is_missing_is_not_deleted_again(delete: Any) -> None:
    class Box:
        part = 2.0

    box = Box()

    def f(w: Any) -> Any:
        delete(box, "part")
        return np.sum(w**2)

    gradient = wg.compile(wg.grad(f), quiet=True)
    for w in INPUTS:
        box.part = 1.0
        np.testing.assert_allclose(gradient(w), 2.0 * w)
        with pytest.raises(AttributeError, match="part"):
            gradient(w)


def test_the_level_of_a_logger(caplog: pytest.LogCaptureFixture) -> None:
    """The generated code sets it where the function does: messages in between are shown or not as they are there."""
    log = logging.getLogger("of_a_level")
    log.setLevel(logging.INFO)

    def f(x):
        before = log.level
        log.info("before %.1f", x)
        log.setLevel(logging.ERROR)
        log.info("hidden")
        log.setLevel(before)
        log.info("after")
        return x * before

    g = wg.compile(f, strict=True)
    assert [g(1.0), g(2.0)] == [20.0, 40.0]
    assert caplog.messages == ["before 1.0", "after", "before 2.0", "after"]
    log.setLevel(logging.WARNING)
    assert g(3.0) == 90.0
    assert len(caplog.messages) == 4
    assert log.level == logging.WARNING


class OwnFormatter(string.Formatter):
    """A class of the user's with a base in the standard library that has no special methods."""

    def __init__(self):
        self.scale = 2.0


def test_an_attribute_of_an_object_with_a_base_in_the_standard_library() -> None:
    own = OwnFormatter()
    g = wg.compile(lambda x: x * own.scale, strict=True)
    assert g(2.0) == 4.0
    own.scale = 3.0
    assert g(2.0) == 6.0


def test_a_cache_of_objects_that_cannot_be_made_again() -> None:
    cache: dict[str, Any] = {}

    def f(x):
        if "names" not in cache:
            cache["names"] = frozenset(["a", "b"])
        return x * len(cache["names"])

    g = wg.compile(wg.grad(f))
    assert [g(2.0) for _ in range(3)] == [2.0] * 3
    assert g.status.startswith("compiled")


REPLACING = """
class Words(dict): pass
class Unit:
    __slots__ = ("scale", "words", "kind", "empty")
    def __init__(self, scale): self.scale, self.words, self.kind, self.empty = scale, Words(m=1), float, Words()
class Table: pass
t = Table(); t.units = {"cm": Unit(0.5), "m": Unit(1.0)}; t.last = Unit(2.0)
def f(x):
    old, last = t.units["cm"], t.last
    t.units["cm"], t.last = Unit(0.5), Unit(x * old.scale)
    last.scale = last.scale + 1.0
    return t.last.scale * last.scale * old.scale * len(old.words) * old.kind(old.words["m"]) * t.units["m"].scale
"""
CHANGES = (
    *("t.units['cm'].scale = 0.7", "t.units['cm'].words['k'] = 1", "t.units['cm'].words['m'] = 3"),
    *("t.units['cm'].kind = lambda n: n + 0.5", "t.units['cm'] = t.last", "t.units['m'] = t.units['cm']"),
)


def test_objects_that_each_call_replaces() -> None:
    space, plain = spaces_of(REPLACING)
    g = wg.compile(wg.value_and_grad(space["f"]), strict=True)
    for change in ("", *CHANGES):
        for before in (space, plain):
            exec(change, before)
        for k in range(4):
            value, slope = g(1.3)
            assert value == plain["f"](1.3)
            assert slope == pytest.approx(value / 1.3, rel=1e-14)
            if k == 2:
                traces = g.explain().splitlines()[0]
        assert g.explain().splitlines()[0] == traces, change


HIDING = """
class Level:
    __slots__ = ("value",)
class Tank(Level):
    __slots__ = ("value",)
class Plant: pass
plant = Plant(); plant.tank = Tank()
def f(x):
    tank = Tank()
    tank.value = x
    Level.value.__set__(tank, 2.0 * x)
    plant.tank = tank
    return x * x
"""


def test_an_object_with_a_slot_that_another_one_hides() -> None:
    space, _ = spaces_of(HIDING)
    g = wg.compile(wg.grad(space["f"]), quiet=True)
    for x in (1.0, 2.0, 3.0):
        assert g(x) == 2.0 * x
        assert space["Level"].value.__get__(space["plant"].tank) == 2.0 * x
