"""What conditions, gathers, relations and zeros mean; and what a tensor function keeps."""

from __future__ import annotations

import gc
import linecache
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wengert as wg
from wengert.tensor.running import native

X = np.array([1.5, -2.0, 0.5, 3.0])
R = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]], bool)
P, Q = np.array([2, 0, 3, 1]), np.array([1, 1, 0, 3])


@pytest.fixture(params=["numpy", "native", "reference"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Compiled loops run in Python."""
    monkeypatch.setattr(native, "has_numba", lambda: True)
    monkeypatch.setattr(native, "_compiled", native._interpreted)
    monkeypatch.setattr(native, "_threads", lambda: 1)
    return str(request.param)


def agrees(f: Any, backend: str, *args: Any) -> None:
    """Value and gradient of the sum of squares are those of the plain function."""
    tensor = wg.tensor.function(f, backend=backend)
    y = np.asarray(f(*args))
    np.testing.assert_allclose(tensor(*args), y, rtol=1e-12)
    bars = tensor.adjoint(*args, 2 * y)
    loss = wg.ngradient(lambda x: np.sum(np.asarray(f(x, *args[1:])) ** 2), args[0])[0]
    np.testing.assert_allclose(bars[0], loss, rtol=1e-5, atol=1e-6)


# ---- quantifiers ----


def without_any(x, r):
    n = len(x)
    return [x[i] ** 2 if not any(r[i, j] for j in range(n)) else x[i] for i in range(n)]


def with_all(x, r):
    n = len(x)
    return [x[i] if all(r[i, j] or j < i for j in range(n)) else 3 * x[i] ** 2 for i in range(n)]


def nested_quantifiers(x, r):
    n = len(x)
    return sum(x[i] ** 2 for i in range(n) if all(any(r[k, j] and j != i for j in range(n)) or k < 2 for k in range(n)))


def beside_an_index(x, r):
    n = len(x)
    return sum(x[i] ** 3 for i in range(n) if any(r[i, j] and j > i for j in range(n)) or i >= 2)


def any_in_any(x, r):
    n = len(x)
    return [sum(x[j] for j in range(n) if any(r[i, k] and not r[k, j] for k in range(n))) for i in range(n)]


@pytest.mark.parametrize("f", [without_any, with_all, nested_quantifiers, beside_an_index, any_in_any])
def test_quantifiers_and_their_opposites(f: Any, backend: str) -> None:
    agrees(f, backend, X, R)
    agrees(f, backend, X, ~R)


def test_twice_differentiated_beside_an_index(backend: str) -> None:
    hessian = wg.tensor.function(beside_an_index, backend=backend).grad().jacobian()
    held = [any(R[i, j] and j > i for j in range(4)) or i >= 2 for i in range(4)]
    np.testing.assert_allclose(hessian(X, R), np.diag(np.where(held, 6 * X, 0.0)))


# ---- gathers ----


def twice_gathered(x, p, q):
    return [x[p[q[i]]] * x[i] for i in range(len(q))]


def gathered_by_name(x, p, q):
    n = len(q)
    chosen = [x[q[i]] for i in range(n)]
    return [sum(chosen[p[q[k]]] * x[p[i]] for k in range(i)) for i in range(n)]


def rows_gathered(x, p, q):
    n = len(x)
    a = [[x[i] * x[j] + x[i] for j in range(n)] for i in range(n)]
    return [sum(a[p[q[i]]][p[j]] for j in range(n) if j != i) for i in range(n)]


@pytest.mark.parametrize("f", [twice_gathered, gathered_by_name, rows_gathered])
def test_a_gather_of_a_gather(f: Any, backend: str) -> None:
    agrees(f, backend, X, P, Q)


# ---- zeros have the kind of what they stand for ----


def pairs(x, flag):
    return [(x[i], 2 * x[i]) if flag else 0.0 for i in range(len(x))]


def rows(x, flag):
    n = len(x)
    return [[x[i] * x[j] for j in range(n)] if flag else 0.0 for i in range(n)]


@pytest.mark.parametrize("flag", [False, True])
def test_a_condition_known_to_be_false_leaves_the_kind(flag: bool, backend: str) -> None:
    tensor = wg.tensor.function(pairs, backend=backend)
    first, second = tensor(X, flag)
    np.testing.assert_array_equal(first, X * flag)
    np.testing.assert_array_equal(tensor.adjoint(X, flag, (first, second))[0], (first + 2 * second) * flag)
    tensor = wg.tensor.function(rows, backend=backend)
    assert tensor(X, flag).shape == (4, 4)
    np.testing.assert_allclose(tensor.adjoint(X, flag, np.ones((4, 4)))[0], 2 * X.sum() * np.ones(4) * flag)


def test_what_is_not_chosen_need_not_be_in_the_language() -> None:
    def f(x, helper):
        return (helper(x) if helper is not None else 0.0) + x[0]

    assert wg.tensor.function(f, backend="numpy")(X, None) == X[0]


def test_a_cotangent_of_other_parts_is_refused() -> None:
    with pytest.raises(wg.WengertError, match="the parts of the value"):
        wg.tensor.function(pairs, backend="numpy").adjoint(X, True, X)


# ---- relations ----


def weighted(x, s):
    n = len(x)
    return [sum(s[i, j] * x[j] for j in range(n)) for i in range(n)]


def selected(x, s):
    n = len(x)
    return [sum(x[j] for j in range(n) if s[i, j]) for i in range(n)]


FORMS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


@pytest.mark.parametrize("form", FORMS)
def test_numbers_of_a_sparse_matrix_are_not_ones(form: str) -> None:
    tensor = wg.tensor.function(weighted, backend="numpy")
    numbers = scipy.sparse.csr_array(R * 2.5).asformat(form)
    with pytest.raises(wg.TensorLanguageError, match="where it is nonzero"):
        tensor(X, numbers)
    np.testing.assert_allclose(tensor(X, scipy.sparse.csr_array(R * 1.0).asformat(form)), R @ X)
    np.testing.assert_allclose(wg.tensor.function(selected, backend="numpy")(X, numbers), R @ X)


@pytest.mark.parametrize("form", FORMS)
def test_a_sparse_matrix_that_changes_in_place_is_seen(form: str) -> None:
    tensor = wg.tensor.function(selected, backend="numpy")
    relation = scipy.sparse.csr_matrix(R).asformat(form)
    np.testing.assert_allclose(tensor(X, relation), R @ X)
    if form in ("lil", "dok", "csr", "csc"):
        relation[0, 3] = True
        relation[2, 0] = False
    else:
        relation.data[...] = 0
    np.testing.assert_allclose(tensor(X, relation), relation.toarray() @ X)


def test_what_stands_at_one_place_twice_is_added_up() -> None:
    entries = scipy.sparse.coo_array(([1.0, -1.0, 1.0], ([0, 0, 1], [1, 1, 2])), shape=(4, 4))
    np.testing.assert_allclose(wg.tensor.function(selected, backend="numpy")(X, entries), [0.0, X[2], 0.0, 0.0])


# ---- what grows, what stays ----


@pytest.mark.parametrize("line", ["t{k} * t{k}", "(t{k} + 1.0) ** 2", "t{k} * t{k} + t{k}"])
def test_text_grows_with_the_program(line: str, backend: str) -> None:
    """A chain of squares was put into one expression, twice as long for each."""
    if backend == "reference":
        pytest.skip("there is no text")
    lengths = []
    for steps in (8, 16, 24):
        body = "".join(f"    t{k + 1} = {line.format(k=k)}\n" for k in range(steps))
        source, file = f"def f(x):\n    t0 = x[0]\n{body}    return t{steps}\n", f"<chain of {steps} {line}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        space: dict[str, Any] = {}
        exec(compile(source, file, "exec"), space)
        with np.errstate(all="ignore"):
            lengths.append(len(wg.tensor.function(space["f"], backend=backend).grad().to_source(np.ones(1))))
    assert lengths[2] - lengths[1] < 2 * (lengths[1] - lengths[0])


def scaled(v, by=2.0, *, less=1.0):
    return v * by - less


def shifted(v, by=2.0, *, less=1.0):
    return v + by - less


@pytest.mark.parametrize("change", [
    {"__defaults__": (3.0,)}, {"__kwdefaults__": {"less": 5.0}}, {"__code__": shifted.__code__},
])  # fmt: skip
def test_a_helper_that_changes_is_read_again(change: dict[str, Any], backend: str) -> None:
    def around(x):
        return sum(scaled(v) for v in x)

    def given(x, helper):
        return sum(helper(v) for v in x)

    for f, more in ((around, ()), (given, (scaled,)), (scaled, ())):
        tensor, x = wg.tensor.function(f, backend=backend), X if more or f is around else 1.5
        assert tensor(x, *more) == pytest.approx(f(x, *more))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in change.items():
                patch.setattr(scaled, name, value)
            assert tensor(x, *more) == pytest.approx(f(x, *more))


def test_what_may_be_true_and_false_is_no_condition() -> None:
    class Switch:
        on = True

        def __bool__(self) -> bool:
            return self.on

    def f(x, switch):
        return x[0] if switch else x[1]

    with pytest.raises(wg.TensorLanguageError, match="not a condition"):
        wg.tensor.function(f, backend="numpy")(X, Switch())
    assert wg.tensor.function(f, backend="numpy")(X, "on") == X[0]


@pytest.mark.parametrize("given", [{"a": 1.0}, bytearray(b"a"), [1.0, [2.0]]])
def test_an_argument_that_cannot_be_told_from_others_is_refused(given: Any) -> None:
    def first(x, options):
        return x[0]

    with pytest.raises(wg.TensorLanguageError):
        wg.tensor.function(first, backend="numpy")(X, given)


def test_arguments_are_not_kept() -> None:
    tensor = wg.tensor.function(selected, backend="numpy")
    x, relation = X.copy(), R.copy()
    gone = [weakref.ref(x), weakref.ref(relation)]
    tensor(x, relation)
    tensor.adjoint(x, relation, x)
    del x, relation
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    tensor.show()
