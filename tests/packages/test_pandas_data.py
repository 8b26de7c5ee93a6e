"""Series and DataFrames that are not differentiated are read untraced; a traced value in one is never dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import RefusedCallError, WengertError
from wengert.recording import trace_state
from wengert.recording.pullback_reads import FarReach
from wengert.values import data_classes

pd = pytest.importorskip("pandas")
pytest.importorskip("wengert_rules.pandas.reads")  # declares the reads

X = np.array([1.5, -0.5, 2.5, 0.7])


def table() -> Any:
    numbers = {"a": [1.0, 2.0, 3.0, 4.0], "b": [0.5, -1.0, 2.0, 1.5], "n": [1, 2, 3, 4]}
    return pd.DataFrame({**numbers, "text": ["u", "v", None, "u"], "kind": pd.Categorical(["p", "q", "p", "q"])})


DATA = table()
WIDE = pd.concat({"p": table()[["a", "b"]], "q": table()[["a", "n"]]}, axis=1)
ODD = pd.DataFrame(
    {
        "integers": pd.array([1, None, 3, 4], "Int64"),
        "floats": pd.array([0.5, None, 2.0, 1.5], "Float64"),
        "bools": pd.array([True, None, False, True], "boolean"),
        "durations": pd.to_timedelta([1, 2, 3, 4], "h"),
        "months": pd.period_range("2020-01", periods=4, freq="M"),
        "intervals": pd.interval_range(0.0, 4.0),
    }
)
READS = {
    "column": lambda d: d["a"].values,
    "column by name": lambda d: d.a.to_numpy(),
    "columns": lambda d: d[["a", "b"]].values.sum(axis=1),
    "loc": lambda d: d.loc[:, "b"].values,
    "loc with a mask": lambda d: np.resize(d.loc[d["text"] == "u", "a"].values, 4),
    "iloc": lambda d: d.iloc[:, 1].to_numpy(),
    "at": lambda d: np.full(4, d.at[2, "b"] + d.iat[1, 0]),
    "asarray": lambda d: np.asarray(d["b"]),
    "ufunc": lambda d: np.exp(d["b"]).values,
    "operators": lambda d: (d["a"] * 2 - d["b"]).values,
    "comparison": lambda d: (d["a"] > 2).values * 1.0,
    "of methods": lambda d: ((d["a"] - d["a"].mean()) / d["a"].std()).values,
    "integers": lambda d: d["n"].astype(float).values,
    "categories": lambda d: (d["kind"] == "p").to_numpy() + 0.5,
    "labels": lambda d: np.array([len(name) for name in d.columns[:4]]) * 1.0,
    "sorted": lambda d: d.sort_values("b")["a"].to_numpy(),
    "filled": lambda d: d["a"].where(d["a"] > 1.5).shift(1).fillna(7.0).to_numpy(),
    "levels": lambda d: WIDE["p"].values @ [1.0, 2.0] + WIDE[("q", "n")].values,
    "levels by loc": lambda d: WIDE.loc[:, ("q", "a")].values,
    "levels of rows": lambda d: WIDE.T.loc["p"].values[1] * 1.0,
    "nullable integers": lambda d: ODD["integers"].to_numpy(float, na_value=7.0),
    "nullable floats": lambda d: ODD["floats"].fillna(2.5).to_numpy(float),
    "nullable bools": lambda d: ODD["bools"].isna().to_numpy() + 0.5,
    "durations": lambda d: ODD.set_index("durations").index.values.astype(float) / 1e13,
    "months": lambda d: ODD.set_index("months").reset_index()["floats"].to_numpy(float, na_value=1.0),
    "intervals": lambda d: ODD.set_index("intervals").loc[0.5:3.5, "floats"].to_numpy(float, na_value=1.0),
    "inverse": lambda d: (~(d["a"] > 2)).values * (-d["b"]).values + 1.5,
    "mask of an array": lambda d: np.resize(np.arange(4.0)[d["text"] == "u"], 4),
    "len": lambda d: np.arange(4.0) * len(d) + d.shape[0],
}


@pytest.mark.parametrize("name", READS)
def test_reads_of_data_are_those_of_the_plain_run(name: str) -> None:
    read = READS[name]
    value, gradient = wg.value_and_grad(lambda x: np.sum(np.sin(x * read(DATA))))(X)
    weights = np.asarray(read(table()))
    assert value == pytest.approx(np.sum(np.sin(X * weights)))
    np.testing.assert_allclose(gradient, np.cos(X * weights) * weights)


def functions_of_pandas_that_are_swapped() -> list[str]:
    return [f.__qualname__ for f, _, _ in trace_state.exchanged if f.__module__.startswith("pandas")]


@pytest.mark.parametrize("name", READS)
def test_a_read_of_data_enters_none_of_the_code_of_its_library(name: str) -> None:
    entered: list[str] = []

    def f(x: Any) -> Any:
        weights = READS[name](DATA)
        entered.extend(functions_of_pandas_that_are_swapped())
        return np.sum(x * weights)

    wg.grad(f)(X)
    assert not entered


@pytest.mark.parametrize(
    "hold", [lambda d: (d, d["a"]), lambda d: [d, d], lambda d: {"d": d}], ids=["tuple", "list", "dict"]
)
def test_tables_in_a_container_enter_none_of_the_code_of_their_library(hold: Any) -> None:
    entered: list[str] = []
    holder = hold(table())

    def f(x: Any, holder: Any) -> Any:
        d = holder["d"] if isinstance(holder, dict) else holder[0]
        weights = d["a"].values
        entered.extend(functions_of_pandas_that_are_swapped())
        return np.sum(x * weights)

    assert np.array_equal(wg.grad(f)(X, holder), table()["a"])
    assert not entered


def test_data_as_keys_of_traced_arrays() -> None:
    mask, places = DATA["a"] > 1.5, DATA["n"] - 1

    def f(x: Any) -> Any:
        y = x**2
        y[places[::-1]] = x[places] * y
        y[mask] *= 3.0
        return np.sum(x[mask] * y[~mask].sum()) + np.sum(np.outer(x, y)[mask, DATA["n"].iloc[:3] - 1])

    expected = wg.ngradient(f, X)[0]
    np.testing.assert_allclose(wg.grad(f)(X), expected, rtol=1e-8)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(X), expected, rtol=1e-8)
    np.testing.assert_allclose(wg.trace(f, X)[0], f(X))


def _shuffled(x: Any) -> Any:
    s = x[0] * DATA["a"]
    return np.sum((s + s.iloc[::-1] * x[1] - s.sort_values(ascending=False) ** 2).values * x)


def _other_labels(x: Any) -> Any:
    s = x[0] * DATA["a"]
    return (s * s.set_axis([2, 3, 4, 5]) + pd.Series([1.0, 2.0, 3.0, 4.0])).sum() * x[1]


def _equal_labels(x: Any) -> Any:
    return np.sum((x[0] * DATA["a"] + pd.Series([1.0, 2.0, 3.0, 4.0], index=[0, 1, 2, 3]) ** x[1]).values)


def _attributes(x: Any) -> Any:
    s = pd.Series([1.0, 2.0, 3.0, 4.0])
    s.attrs["scale"] = x[0]
    t = s * x[1]
    return t.sum() * t.attrs["scale"]


def _gaps(x: Any) -> Any:
    s = pd.Series([1.0, np.nan, 3.0, 4.0]) * x + x[0] * DATA["n"]
    return s.sum() + (s / x[1]).mean() + s.fillna(x[2]).prod()


def _mixed(x: Any) -> Any:
    s = 2 - x[0] / (1 + DATA["b"] ** 2) ** x[1]
    s = s * DATA["n"] - np.arange(4) + x * s / 3
    s += x[2]
    s[1] = s[2] * x[3]
    held = s.values * 1.0
    s *= held
    return np.sum(s**2) + np.sum(np.sin(s).values) + (s - s.mean()).abs().max() + s.loc[DATA["a"] > 2.0].sum()


def _scalars(x: Any) -> Any:
    return float((float(x[0]) * DATA["a"] - 2 * x[1] ** DATA["n"]).sum()) + (True * DATA["b"] * x[2]).sum()


LABELLED = [_shuffled, _other_labels, _equal_labels, _attributes, _gaps, _mixed, _scalars]


@pytest.mark.parametrize("f", LABELLED, ids=lambda f: f.__name__)
def test_operators_on_series_with_traced_numbers(f: Any) -> None:
    x = np.array([1.5, 0.5, 2.5, 0.7])
    expected = wg.ngradient(f, x)[0]
    value, gradient = wg.value_and_grad(f)(x)
    assert value == f(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], expected @ x, rtol=1e-6)
    np.testing.assert_allclose(wg.hvp(f, x, x), wg.jvp(wg.grad(f), (x,), (x,))[1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(wg.grad(wg.checkpoint(lambda x: f(x) * 1.0))(x), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(x), expected, rtol=1e-6, atol=1e-7)


def test_an_operator_on_a_series_enters_none_of_the_code_of_pandas() -> None:
    entered: list[str] = []

    def f(x: Any) -> Any:
        s = x[0] * DATA["a"] + x[1] * DATA["b"] - x / (3.0 - DATA["b"])
        entered.extend(functions_of_pandas_that_are_swapped())
        return np.sum(s.values)

    wg.grad(f)(X)
    assert not entered


def _stored(x: Any, place: Any, value: Any) -> Any:
    d = table()
    place(d, value)
    return d


def _by_memory(d: Any, x: Any) -> None:
    d._mgr.blocks[0].values[:] = x


def _attribute(x: Any) -> Any:
    d = table()
    d["a"].attrs["scale"] = x[0]
    d.attrs["scale"] = x[0]
    return np.sum(d["a"].values * d[["a", "b"]].attrs["scale"])


def _item(x: Any) -> Any:
    d = table().astype({"text": object})
    d.loc[1, "text"] = x[1]
    return d["text"].values[1] * 3.0


def _object_array(x: Any) -> Any:
    held = np.array(["u", None, "v", "w"], dtype=object)
    s = pd.Series(held, dtype=object, copy=False)
    held[1] = x[1]
    return s.values[1] * 3.0


def _object_column(x: Any) -> Any:
    d = pd.DataFrame({"o": [x[0], "v"]}, dtype=object)
    return d["o"].iloc[0] ** 2


def _column(x: Any) -> Any:
    d = table()
    d["c"] = x
    return np.sum(d[["a", "c"]].values ** 2)


def _labels(x: Any) -> Any:
    return np.sum(pd.Series([1.0, 2.0, 3.0, 4.0], index=pd.Index(x)).index.values ** 2)


def _memory(x: Any) -> Any:
    numbers = np.ones(4)
    s = pd.Series(numbers, copy=False)
    first = np.sum(s.values)
    numbers[:] = x
    return first * np.sum(s.values * s.to_numpy()) + np.sum(np.asarray(s) ** 2) + np.sum(np.exp(s).values)


def _written_before_the_pullback(x: Any) -> Any:
    numbers = np.ones(4)
    s = pd.Series(numbers, copy=False)
    y = np.sum(x * s.values)
    numbers[:] = 5.0
    return y + np.sum(x * s.values)


def _written_by_a_ufunc(x: Any) -> Any:
    s = pd.Series(np.ones(4))
    y = np.sum(x * s.values)
    np.add(s, 1.0, out=s)
    return y + np.sum(x * s.values)


def _changed_in_place(x: Any) -> Any:
    s = pd.Series(np.ones(4))
    y = np.sum(x * s.values)
    s += 1.0
    s.iloc[0] = 7.0
    return y + np.sum(x * s.values)


def _name(x: Any) -> Any:
    return pd.Series([1.0], name=x[0]).to_frame().columns.values[0] * 2.0


def _subclass(x: Any) -> Any:
    class Scaled(pd.DataFrame):
        def __getitem__(self, key: Any) -> Any:
            return super().__getitem__(key) * x[0]

    return np.sum(Scaled({"a": [1.0, 2.0]})["a"].values)


def _patched(x: Any) -> Any:
    own = pd.Series.to_numpy
    pd.Series.to_numpy = lambda self: own(self) * x[0]
    try:
        return np.sum(DATA["a"].to_numpy())
    finally:
        pd.Series.to_numpy = own


def _applied(x: Any) -> Any:
    return DATA["a"].map(lambda value: value * x[0]).sum()


def _by_c(x: Any) -> Any:
    numbers = np.ones(4)
    s = pd.Series(numbers, copy=False)
    numbers[:] = x
    return sum(sorted(s)) + sum(list(s)) + sum(map(s.get, [0, 1]))


def _inner(x: Any) -> Any:
    s = pd.Series(x * 2.0)
    return wg.grad(lambda y: np.sum(y**2 * s.values))(x[0])


HIDDEN = [
    _attribute, _item, _object_array, _object_column, _column, _labels, _memory, _written_before_the_pullback,
    _written_by_a_ufunc, _changed_in_place, _name, _subclass, _patched, _applied, _by_c, _inner,
]  # fmt: skip


@pytest.mark.parametrize("f", HIDDEN)
def test_a_traced_value_in_a_table_is_found_or_refused(f: Any) -> None:
    try:
        value, gradient = wg.value_and_grad(f)(X)
    except RefusedCallError:
        return
    assert value == pytest.approx(f(X))
    steps = 1e-6 * np.eye(4)
    np.testing.assert_allclose(gradient, [(f(X + h) - f(X - h)) / 2e-6 for h in steps], rtol=1e-6, atol=1e-7)


_COMPARED = ("eq", "ne", "lt", "gt", "le", "ge", "add", "sub", "mul", "div")
WORDS: dict[str, tuple[Any, ...]] = {
    "__getitem__": (1,), "__contains__": (0,), "astype": (object,), "get": (1,), "get_loc": (1,), "get_indexer": ([1],),
    "isin": ([2.0],), "reindex": ([0, 1],), "filter": ([0, 1],), "quantile": (0.5,),
    "fillna": (0.0,), "between": (0.0, 2.1), "clip": (-9.0, 9.0), "drop": (1,), **dict.fromkeys(_COMPARED, (2.0,)),
}  # fmt: skip
"""The arguments of methods that take some others than a number."""


def _number_in(found: Any) -> Any:
    """The sum of the numbers in a result, without nans."""
    if isinstance(found, (pd.Series, pd.DataFrame, pd.Index)):
        found = found.to_numpy()
    if isinstance(found, (np.ndarray, list)):
        return sum([_number_in(part) for part in np.ravel(found)])
    return found if isinstance(found, (float, np.floating)) and found == found else 0.0


@pytest.mark.parametrize("name", sorted(data_classes.READS[pd.Series].names))
@pytest.mark.parametrize("make", [lambda numbers: numbers, lambda numbers: numbers.to_frame("a")["a"]])
def test_no_read_of_traced_objects_loses_a_derivative(make: Any, name: str) -> None:
    def f(x: Any) -> Any:
        found = getattr(make(pd.Series([x[0], 2.0, x[1] * x[2]], dtype=object)), name)
        if callable(found) and name not in ("at", "iat", "iloc", "loc"):
            is_binary = name[:2] == "__" and name not in ("__len__", "__array__", "__neg__", "__invert__", "__abs__")
            found = found(*WORDS.get(name, (2.0,) if is_binary else ()))
        return _number_in(found[1] if name in ("at", "iat", "iloc", "loc") else found) + x[3]

    try:
        expected = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    except (TypeError, ValueError, AttributeError):
        pytest.skip("pandas cannot do this with objects")
    try:
        gradient = wg.grad(f)(X)
    except WengertError:
        return
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


def _exchange_names(d: Any) -> None:
    d.columns = ["b", "a", *d.columns[2:]]


def _reorder_categories(d: Any) -> None:
    d["kind"] = d["kind"].cat.reorder_categories(["q", "p"], ordered=True)


def _rename_categories(d: Any) -> None:
    d["kind"] = d["kind"].cat.rename_categories({"p": "q", "q": "p"})


def _move_a_column(d: Any) -> None:
    d.insert(0, "n", d.pop("n"))


CHANGES: list[Any] = [
    lambda d: d.__setitem__("a", d["a"] * 3.0 + 1.0),
    lambda d: d.loc.__setitem__((0, "b"), 7.0),
    lambda d: d.at.__setitem__((1, "n"), 9),
    lambda d: d.at.__setitem__((1, "text"), "u"),
    _reorder_categories,
    _rename_categories,
    _exchange_names,
    _move_a_column,
    lambda d: setattr(d, "index", [3, 2, 1, 0]),
    lambda d: d.insert(0, "z", [9.0, 8.0, 7.0, 6.0]),
    lambda d: d.__setitem__("n", d["n"] + 0.5),
]


@pytest.mark.parametrize("name", READS)
@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("changes", [CHANGES[:6], CHANGES[6:]])
def test_compiled_code_sees_each_change_of_a_table(name: str, changes: list[Any]) -> None:
    data, read, is_loop = table(), READS[name], name == "labels"  # loops over columns and labels run uncompiled
    gradient_of = wg.value_and_grad(lambda x, d: np.sum(np.sin(x * read(d))))
    compiled = wg.compile(gradient_of, strict=not is_loop, quiet=is_loop, native=False)
    for change in [lambda d: None, *changes]:
        change(data)
        try:
            weights = np.asarray(read(data))
        except (KeyError, IndexError):  # the column has another name
            continue
        value, gradient = compiled(X, data)
        assert value == pytest.approx(np.sum(np.sin(X * weights)))
        np.testing.assert_allclose(gradient, np.cos(X * weights) * weights)


def _writes_through_a_view(x: Any, d: Any) -> Any:
    column = d["a"].values
    if column.flags.writeable:  # before pandas 3
        column[0] = x[0]
    return np.sum(column * x)


def _adds_a_column(x: Any, d: Any) -> Any:
    d["twice"] = d["a"] * 2.0
    return np.sum(d["twice"].to_numpy() * x)


def _returns_a_column(x: Any, d: Any) -> Any:
    return np.sum(x) * d["a"].values


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [_writes_through_a_view, _adds_a_column, _returns_a_column])
def test_a_compiled_function_leaves_tables_as_the_plain_one_does(f: Any) -> None:
    plain, own = table(), table()
    compiled = wg.compile(f)
    for k in range(3):
        np.testing.assert_array_equal(compiled(X + k, own), f(X + k, plain))
        pd.testing.assert_frame_equal(own, plain)


def test_the_search_for_traced_values_does_not_enter_pandas() -> None:
    """It took a second at the first operator of a traced Series with one of data, for each gradient."""
    assert len(FarReach(pd.Series).functions) < 100


class Hiding(pd.Series):
    """A Series by whose method C gets a traced value."""

    @property
    def _constructor(self) -> Any:
        return Hiding

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray([HIDDEN[0]] * 4)


HIDDEN: list[Any] = [1.0]


def test_a_subclass_of_the_users_is_searched() -> None:
    def f(x: Any) -> Any:
        HIDDEN[0] = x[0]
        return np.sum(np.nan_to_num(Hiding([1.0, 2.0, 3.0, 4.0])) * x)

    try:
        gradient = wg.grad(f)(X)
    except WengertError:
        return
    finally:
        HIDDEN[0] = 1.0
    np.testing.assert_allclose(gradient, X[0] + np.sum(X) * np.eye(4)[0])
