"""Play: other inputs give what the function gives; what does not fit is refused; no store is ever seen."""

from __future__ import annotations

import math
import operator
import random
import zlib
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import _sparsetools
from tapes import SITE, array_tape, plainly, same_bits, scalar_tape

import wengert as wg
import wengert_rules  # noqa: F401
from wengert.errors import StaleTapeError
from wengert.tape.liveness import liveness
from wengert.tape.play import play
from wengert.tape.tape import Call, Constant, Input, Tape, Variable, mkcall
from wengert.values import functional


def branching(x: float) -> float:
    return x * 2 if x < 1.0 else math.sqrt(x)


def branching_tape(x: float) -> Tape:
    tape = Tape()
    tape.push(Input(branching, "branching", callee=True))
    v = tape.push(Input(x, "x"))
    tape.push(Call(operator.lt, [v, 1.0], val=x < 1.0, guard=True, site=SITE))
    tape.result = tape.push(mkcall(operator.mul, v, 2) if x < 1.0 else mkcall(math.sqrt, v))
    return tape


@pytest.mark.parametrize("x", [0.25, 4.0])
def test_play_is_the_function(x: float) -> None:
    tape = branching_tape(x)
    assert tape.play() == branching(x)
    assert play(tape, x * 1.5) == branching(x * 1.5)


def test_another_branch_is_stale() -> None:
    with pytest.raises(StaleTapeError) as caught:
        branching_tape(0.25).play(4.0)
    assert "program.py:7 in f" in str(caught.value)
    assert "guard lt(%2, 1.0) is True" in str(caught.value) and "now it is False" in str(caught.value)
    assert "fix:" in str(caught.value)


@pytest.mark.parametrize(("recorded", "given", "said"), [
    (1.0, 1, "float when recorded, now it is int"),
    (1.0, np.float64(1), "float when recorded, now it is float64"),
    (np.float64(1), np.float32(1), "float64 when recorded, now it is float32"),
    (np.ones(3), np.ones(4), r"float64\[3\] when recorded, now it is float64\[4\]"),
    (np.ones(3), np.ones(3, np.float32), r"now it is float32\[3\]"),
    (np.ones(3), [1.0, 1.0, 1.0], "now it is list"),
    (np.ones(1), 1.0, "now it is float"),
])  # fmt: skip
def test_inputs_of_another_kind_are_stale(recorded: Any, given: Any, said: str) -> None:
    tape = Tape()
    tape.result = tape.push(Input(recorded, "x"))
    assert tape.play(recorded) is recorded
    with pytest.raises(StaleTapeError, match=said):
        tape.play(given)


def test_the_number_of_inputs_is_checked() -> None:
    with pytest.raises(StaleTapeError, match="1 inputs, but 2 values were given"):
        branching_tape(0.25).play(1.0, 2.0)


@pytest.mark.parametrize(("recorded", "now", "stale"), [
    (True, 1, True), (1, True, True), (3, 3, False), (None, None, False), (None, 0, True), ("a", "b", True),
])  # fmt: skip
def test_outcomes_are_compared_by_type_and_value(recorded: Any, now: Any, stale: bool) -> None:
    tape = Tape()
    tape.result = tape.push(Input(0.0))
    tape.push(Call(lambda: now, val=recorded, guard=True))
    if stale:
        with pytest.raises(StaleTapeError):
            tape.play()
    else:
        assert tape.play() == 0.0


def test_strides_matter_where_there_are_windows() -> None:
    tape = Tape()
    x = tape.push(Input(np.arange(6.0).reshape(2, 3), "x"))
    tape.result = tape.push(mkcall(functional.lens, x, 8, (2,), (16,)))
    assert tape.play(np.arange(6.0).reshape(2, 3) * 2).tolist() == [2.0, 6.0]
    with pytest.raises(StaleTapeError, match="strides"):
        tape.play(np.asfortranarray(np.ones((2, 3))))


def stores(n: int, read_each: bool = False) -> Tape:
    """y = zeros; y[0] = s; y[1] = s; ..."""
    tape = Tape()
    s = tape.push(Input(1.0, "s"))
    y = tape.push(mkcall(np.zeros_like, np.zeros(n)))
    for k in range(n):
        if read_each:
            s = tape.push(mkcall(operator.getitem, y, k - 1))
        y = tape.push(Call(functional.setitem, [y, k, s], val=np.zeros(n)))
    tape.result = y
    return tape


@pytest.mark.parametrize("read_each", [False, True])
def test_stores_copy_nothing_when_only_the_last_version_is_read(
    read_each: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = stores(200, read_each)
    expected = plainly(tape)
    copies = []
    real = functional.strided_copy
    monkeypatch.setattr(functional, "strided_copy", lambda x: copies.append(1) or real(x))
    assert same_bits(tape.play(), expected)
    assert not copies


def in_place(tape: Tape) -> set[int]:
    return set(liveness(list(tape), tape.result).in_place)


def store_on(x: Any, *more: Any) -> tuple[Tape, Variable, Variable]:
    """A tape on which an array, made by the call or taken as it is, is stored to."""
    tape = Tape()
    source = tape.push(Input(np.arange(6.0), "x"))
    made = tape.push(mkcall(x, source, *more)) if callable(x) else tape.push(x)
    stored = tape.push(mkcall(functional.setitem, made, 0, 5.0))
    tape.result = stored
    return tape, made, stored


def test_inputs_constants_and_their_views_are_never_written() -> None:
    assert in_place(store_on(np.copy)[0]) == {3}
    for tape in (
        store_on(Constant(np.zeros(3)))[0],
        store_on(np.reshape, (2, 3))[0],
        store_on(operator.getitem, slice(None))[0],
        store_on(lambda x: x)[0],
        store_on(np.ndarray.conj)[0],
        store_on(np.asarray)[0],
    ):
        assert not in_place(tape)
        x = np.arange(6.0)
        tape.play(x)
        assert x.tolist() == list(range(6)) and tape[2].val.flat[0] == 0
    tape = store_on(np.copy)[0]
    tape.replace(2, Call(operator.getitem, [np.arange(6.0), slice(None)], val=np.arange(6.0)))
    assert not in_place(tape)


def test_an_old_version_that_is_read_later_is_kept() -> None:
    for read in (lambda t, m: m, lambda t, m: t.insert(3, mkcall(np.reshape, m, (2, 3)))[0]):
        tape, made, stored = store_on(np.copy)
        old = read(tape, made)
        tape.result = tape.push(mkcall(functional.make_tuple, old, stored))
        old_version, new_version = tape.play()
        assert old_version.ravel()[0] == 0.0 and new_version[0] == 5.0
        assert not in_place(tape)


def test_a_view_read_before_the_store_does_no_harm() -> None:
    tape, made, stored = store_on(np.copy)
    view = tape.insert(3, mkcall(np.reshape, made, (2, 3)))[0]
    tape.insert(stored, mkcall(np.sum, view))
    assert in_place(tape) == {stored.id}


def test_a_container_keeps_what_it_holds() -> None:
    tape, made, stored = store_on(np.copy)
    box = tape.insert(stored, mkcall(functional.make_list, made))[0]
    tape.result = tape.push(mkcall(functional.make_tuple, box, stored))
    assert not in_place(tape)


def test_adding_an_array_to_itself_by_a_list_of_places_copies() -> None:
    tape = Tape()
    x = tape.push(Input(np.arange(3.0), "x"))
    y = tape.push(mkcall(np.copy, x))
    tape.result = tape.push(mkcall(functional.additem, y, np.array([2, 2, 0]), y))
    assert not in_place(tape)
    assert same_bits(tape.play(), plainly(tape))


def test_values_are_dropped_after_their_last_reader() -> None:
    alive: list[Any] = []

    class Tracked(np.ndarray):
        def __del__(self) -> None:
            alive.pop()

    def step(x: Any) -> Any:
        alive.append(None)
        assert len(alive) <= 3
        return (np.asarray(x) + 1).view(Tracked)

    tape = Tape()
    v = tape.push(Input(np.zeros(2), "x"))
    for _ in range(20):
        v = tape.push(Call(step, [v]))
    tape.result = v
    assert tape.play()[0] == 20.0


@pytest.mark.parametrize("seed", range(60))
def test_random_arrays(seed: int) -> None:
    tape = array_tape(random.Random(seed))
    rng = np.random.default_rng(seed)
    inputs = [rng.normal(size=6), rng.normal(size=6), 2.5]
    kept = [np.copy(x) for x in inputs]
    assert same_bits(tape.play(*inputs), plainly(tape, *inputs))
    assert same_bits(tape.play(), plainly(tape))
    assert all(map(np.array_equal, inputs, kept))


def test_random_arrays_are_often_written_in_place() -> None:
    assert sum(len(in_place(array_tape(random.Random(seed)))) for seed in range(60)) > 60


@pytest.mark.parametrize("seed", range(20))
def test_random_scalars(seed: int) -> None:
    tape = scalar_tape(random.Random(seed))
    assert same_bits(tape.play(), plainly(tape))


def test_an_array_that_opaque_code_read_is_checked() -> None:
    """The order of the elements went where the tape cannot see: another order is another function."""

    def f(x: np.ndarray) -> np.ndarray:
        place = zlib.crc32(np.argsort(x)) % 3
        return np.sum(x * x[place])

    x = np.array([3.0, 1.0, 2.0])
    _, tape = wg.trace(f, x)
    namespace: dict[str, Any] = {}
    exec(tape.to_source("made"), namespace)
    for run in (tape.play, namespace["made"]):
        assert run(2 * x) == f(2 * x)
        with pytest.raises(wg.StaleTapeError):
            run(-x)


def test_what_opaque_code_writes_into_an_array_of_integers_is_on_the_tape() -> None:
    """The C function fills rows that a comparison with the argument has made."""

    def f(x: np.ndarray) -> np.ndarray:
        rows = (x > 0).astype(np.int32)
        _sparsetools.expandptr(2, np.array([0, 2, 3], np.int32), rows)
        return np.sum(x[rows] * np.array([1.0, 2.0, 3.0]))

    x = np.array([1.0, 2.0, 3.0])
    _, tape = wg.trace(f, x)
    compiled = wg.compile(wg.grad(f), strict=True)
    for y in (x, 2 * x):
        assert tape.play(y) == f(y)
        np.testing.assert_array_equal(compiled(y), [3.0, 3.0, 0.0])
    with pytest.raises(wg.StaleTapeError):
        tape.play(-x)
    np.testing.assert_array_equal(compiled(-x), [3.0, 3.0, 0.0])


def test_a_sparse_matrix_without_its_zeros_is_compiled() -> None:
    """SciPy fills new arrays, made in the shape of arrays that a mask has chosen."""
    rows, columns = np.array([0, 1, 1, 2, 0, 2]), np.array([0, 1, 1, 2, 2, 1])

    def f(x: np.ndarray) -> np.ndarray:
        a = scipy.sparse.coo_matrix((x, (rows, columns)), shape=(3, 3))
        a.eliminate_zeros()
        return np.sum(a.tocsr() @ np.array([1.0, 2.0, 3.0]))

    compiled = wg.compile(wg.grad(f), strict=True)
    for zeros in ([], [3], [], [0, 5], [1]):
        x = np.arange(1.0, 7.0)
        x[zeros] = 0
        expected = np.where(x, [1.0, 2.0, 2.0, 3.0, 3.0, 2.0], 0.0)
        np.testing.assert_array_equal(compiled(x), expected)


def test_a_written_argument_in_fortran_order_is_shown_in_that_order() -> None:
    """Else a tape that reads it by its place in memory would refuse the very array that it was made of."""

    def f(x: Any) -> Any:
        x[0, 0] = x[1, 1] * 2
        return np.sum(x.reshape(-1, order="F")[::2] ** 2)

    def argument() -> Any:
        return np.asfortranarray(np.arange(12.0).reshape(3, 4))

    expected = wg.grad(f)(argument())
    for tape in (wg.trace(f, argument())[1], wg.gradtape(f, argument())):
        assert next(op.val for op in tape if isinstance(op, wg.Input) and not op.callee).strides == (8, 24)
    np.testing.assert_array_equal(tape.play(argument())[1][1], expected)


@pytest.mark.parametrize("exponent", [2j, np.complex64(2), np.array([1 + 1j, 2.0])], ids=str)
def test_a_power_with_a_complex_exponent_is_recorded(exponent: Any) -> None:
    value, tape = wg.trace(lambda x: x**exponent, 3.0)
    assert same_bits(value, 3.0**exponent)
    assert same_bits(tape.play(5.0), 5.0**exponent)
