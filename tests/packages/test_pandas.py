"""pandas is followed through its Python down to what it computes in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

pd = pytest.importorskip("pandas")

X = np.array([0.5, 1.2, 0.7, 2.1, 1.4, 0.3])
DAYS, LEFT = pd.date_range("2020-01-01", periods=6), pd.DataFrame({"k": [2, 1]})
KEYS = ["a", "b", "a", "b", "a", "c"]


def gaps(x: np.ndarray) -> Any:
    return pd.Series(np.where(np.arange(6) == 2, np.nan, x))


def assigned(x: np.ndarray) -> Any:
    s = pd.Series(x**2)
    s.iloc[1] = x[0] * 3
    s.loc[s > 4] = 0.5
    return s


def series(x: np.ndarray) -> Any:
    return pd.Series(x)


PROGRAMS: dict[str, Callable[[np.ndarray], Any]] = {
    "arithmetic": lambda x: ((series(x) * 2 + series(x) ** 2) / (1 + series(x))).sum(),
    "ufunc": lambda x: np.log(series(x)).sum() + np.sum(np.hypot(series(x), 2.0)),
    "shown to NumPy": lambda x: np.sum(np.asarray(series(x)) ** 3) + np.sum(np.array([series(x), x]) ** 2),
    "cumulative": lambda x: series(x).cumsum().iloc[3] + (1 + series(x)).cumprod().iloc[-1],
    "changes": lambda x: series(x).pct_change().std() + (series(x) / series(x).shift(1) - x[2]).dropna().sum(),
    "changes of a frame": lambda x: pd.DataFrame({"a": x, "b": np.sin(x)}).pct_change().sum().prod(),
    "logarithms past gaps": lambda x: np.log(series(x) / series(x).shift(1)).dropna().std(),
    "frame's logarithms": lambda x: np.log(pd.DataFrame({"a": x, "b": x**2}).pct_change() + 2).mean().prod(),
    "size of differences": lambda x: series(x).diff().abs().sum() + np.abs(gaps(x)).sum() ** 2,
    "frame's differences": lambda x: (pd.DataFrame({"a": x, "k": np.arange(6)}).diff().abs().sum() ** 2).sum(),
    "standard scores": lambda x: (
        ((series(x) - series(x).rolling(3).mean()) / series(x).rolling(3).std()).fillna(x[0]).sum()
    ),
    "by methods": lambda x: series(x).div(gaps(x)).add(gaps(x).shift(1), fill_value=2.0).sum(),
    "powers past gaps": lambda x: (gaps(x) ** 2).sum() + (x[0] ** gaps(x)).sum() + (gaps(x) ** 0).sum(),
    "deviation of equal numbers": lambda x: series(x).rolling(3, min_periods=1).std(ddof=0).sum(),
    "moments": lambda x: series(x).var() + gaps(x).std() + series(x).mean(),
    "quantiles": lambda x: series(x).quantile(0.3) + series(x).median() + gaps(x).max() - gaps(x).min(),
    "selection": lambda x: series(x).where(x > 0.6, 0.0).clip(upper=2.0).sum() + series(x)[x > 1].mean(),
    "reindexed": lambda x: (series(x).reindex([4, 1, 7]).fillna(0.0) ** 2).sum(),
    "shifted": lambda x: series(x).shift(2).iloc[3] ** 2 + (series(x).diff().iloc[1:] ** 2).sum(),
    "filled": lambda x: (gaps(x).ffill() ** 2).sum() + (gaps(x).bfill() ** 3).sum() + gaps(x).interpolate().sum(),
    "sorted": lambda x: (series(x).sort_values().reset_index(drop=True) * np.arange(6)).sum(),
    "sliced": lambda x: (
        (pd.DataFrame({"a": x, "b": x**2}).iloc[1:4] ** 2).to_numpy().sum() + (series(x)[1:3] ** 2).sum()
    ),
    "columns sliced": lambda x: (pd.DataFrame(x.reshape(2, 3)).iloc[:, 1:][:1] ** 2).to_numpy().sum(),
    "head and tail": lambda x: (pd.DataFrame(x.reshape(3, 2)).head(2) ** 2 + x[0]).tail(1).to_numpy().sum(),
    "transposed": lambda x: (pd.DataFrame(x.reshape(3, 2)).T.loc[0] ** 2).sum(),
    "stacked": lambda x: (pd.DataFrame(x.reshape(3, 2)).stack() ** 2 * np.arange(6)).sum(),
    "set by place": lambda x: assigned(x).sum(),
    "aligned": lambda x: (series(x) * pd.Series(x, index=np.arange(6)[::-1])).sum(),
    "joined": lambda x: (pd.concat([series(x), series(x[:2])]).to_numpy() ** 2 * np.arange(8)).sum(),
    "columns": lambda x: pd.DataFrame({"a": x, "b": x**2}).assign(c=lambda d: d.a * d.b).c.mean(),
    "rows": lambda x: (pd.DataFrame(x.reshape(3, 2)).mul([1.0, 2.0]).sum(axis=1) ** 2).sum(),
    "covariance": lambda x: pd.DataFrame(x.reshape(3, 2)).cov().to_numpy().sum(),
    "correlation": lambda x: pd.DataFrame({"a": x, "b": x**3}).corr().iloc[0, 1],
    "rolling mean": lambda x: (series(x).rolling(3).mean().iloc[2:] ** 2).sum(),
    "rolling mean with gaps": lambda x: gaps(x).rolling(2, min_periods=1).mean().sum(),
    "rolling sum": lambda x: (series(x).rolling(2, min_periods=1).sum() ** 2).sum(),
    "expanding sum": lambda x: series(x).expanding().sum().iloc[4] ** 2,
    "rolling std": lambda x: series(x).rolling(3).std().iloc[2:].sum(),
    "rolling var with gaps": lambda x: gaps(x).rolling(4, min_periods=2).var().iloc[1:].sum(),
    "rolling max": lambda x: series(x).rolling(3).max().iloc[2:].sum(),
    "rolling median": lambda x: series(x).rolling(3).median().iloc[4],
    "rolling skew": lambda x: series(x).rolling(5).skew().iloc[-1],
    "rolling kurt": lambda x: series(x).rolling(6).kurt().iloc[-1],
    "rolling quantile": lambda x: series(x).rolling(4).quantile(0.4).iloc[-1],
    "rolling apply": lambda x: series(x).rolling(3).apply(lambda w: np.prod(w), raw=True).iloc[2:].sum(),
    "ewm": lambda x: (series(x).ewm(alpha=0.3).mean() ** 2).sum(),
    "ewm with gaps": lambda x: (gaps(x).ewm(span=3, adjust=False).mean() ** 2).sum(),
    "resampled": lambda x: (pd.Series(x, index=DAYS).resample("2D").mean() ** 2).sum(),
    "merged": lambda x: pd.DataFrame({"k": [1, 2], "v": x[:2]}).merge(LEFT.assign(w=x[2:4]), on="k").prod(axis=1).sum(),
    **{
        f"group {name}": lambda x, name=name: (getattr(series(x).groupby(KEYS), name)() ** 2).to_numpy().sum()
        for name in ("sum", "mean", "prod", "max", "min", "median", "first", "last", "cumsum", "cumprod", "cummax")
    },
    "group std": lambda x: pd.DataFrame({"k": KEYS, "v": x}).groupby("k")["v"].std().iloc[:2].sum(),
    "group quantile": lambda x: series(x).groupby(KEYS).quantile(0.4).sum(),
    "group apply": lambda x: (
        pd.DataFrame({"k": KEYS, "v": x}).groupby("k")[["v"]].apply(lambda g: g.v.prod()) ** 2
    ).sum(),
    "rows one by one": lambda x: pd.DataFrame(x.reshape(3, 2)).apply(lambda row: row[0] * row[1] ** 2, axis=1).prod(),
    "by texts": lambda x: pd.Series(KEYS).map({"a": x[0], "b": x[1], "c": x[2]}).pow(2).sum(),
    "of texts": lambda x: pd.Series(KEYS).apply(lambda key: x[ord(key) - 97] * len(key)).prod(),
    "made of numbers": lambda x: (pd.Series({"a": x[0], "b": x.sum(), "n": 3}) ** 2).sum(),
    "made of records": lambda x: pd.DataFrame([{"a": v, "b": v**2} for v in x[:2]] + [{"a": x[2]}]).mean().prod(),
    "unstacked with gaps": lambda x: (
        pd.Series(x, pd.MultiIndex.from_arrays([KEYS, range(6)])).unstack(0).mean() ** 2
    ).sum(),
    "rolling covariance": lambda x: (series(x).rolling(3).cov(gaps(x) ** 2) ** 2).sum(),
    "rolling correlation": lambda x: series(x).rolling(4).corr(gaps(x).shift(1)).sum(),
    "methods by functions of NumPy": lambda x: np.sum(np.cumsum(pd.DataFrame(x.reshape(3, 2))) ** 2).sum(),
    "weights by keyword": lambda x: np.sum(np.bincount([0, 1, 1, 0, 2, 1], weights=series(x)) ** 2),
    "group transform": lambda x: (series(x) - series(x).groupby(KEYS).transform("mean")).pow(2).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient_is_that_of_differences(name: str) -> None:
    f = PROGRAMS[name]
    value, gradient = wg.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-13)
    assert gradient == pytest.approx(wg.ngradient(f, X)[0], rel=1e-6, abs=1e-7)
    tangent = np.cos(np.arange(6.0))
    assert wg.jvp(f, (X,), (tangent,))[1] == pytest.approx(np.sum(gradient * tangent), rel=1e-10)


@pytest.mark.parametrize("name", ["roll_sum", "roll_mean", "roll_var"])
def test_rules_of_windows(name: str) -> None:
    from pandas._libs.window import aggregations

    start, end = np.array([0, 0, 1, 2, 3, 3]), np.array([1, 2, 3, 4, 5, 6])
    for x in (X, np.where(np.arange(6) == 2, np.nan, X)):
        f = getattr(aggregations, name)
        g = lambda x, f=f: np.sum(np.nan_to_num(f(np.where(np.arange(6) == 2, x_at, x), start, end, 1)) ** 2)
        x_at = x[2]
        wg.check_grads(g, X, order=2)


def test_smoothing_factor_of_ewm() -> None:
    f = lambda a: (pd.Series(X).ewm(alpha=a).mean() ** 2).sum()
    assert wg.grad(f)(0.4) == pytest.approx(wg.ngradient(f, 0.4)[0], rel=1e-7)


def test_gradient_of_a_series_is_a_series() -> None:
    s = pd.Series(X, index=list("abcdef"), name="height")
    gradient = wg.grad(lambda s: (s**2).sum() + s["b"])(s)
    pd.testing.assert_series_equal(gradient, (2 * s).add(pd.Series({"b": 1.0}), fill_value=0.0).rename("height"))
    assert np.array_equal(s, X)


def test_gradient_of_a_frame_is_a_frame_and_keeps_what_is_no_float() -> None:
    df = pd.DataFrame({"a": X, "b": X**2, "k": KEYS, "n": range(6)})
    before = df.copy()
    df["a"].sum()  # pandas may keep the column, with the array that it shows
    gradient = wg.grad(lambda d: (d["a"] * d["b"]).sum() + d.groupby("k")["a"].mean().iloc[0])(df)
    by_group = np.where(np.array(KEYS) == "a", 1 / 3, 0)
    expected = before.assign(a=X**2 + by_group, b=X)
    pd.testing.assert_frame_equal(gradient, expected)
    pd.testing.assert_frame_equal(df, before)


def test_series_in_a_dictionary_and_forward_mode() -> None:
    s = pd.Series(X)
    gradient = wg.grad(lambda p: (p["s"] * p["w"]).sum())({"s": s, "w": 2.0})
    assert gradient["s"].tolist() == [2.0] * 6 and gradient["w"] == pytest.approx(X.sum())
    assert wg.jvp(lambda s: (s**2).sum(), (s,), (pd.Series(np.ones(6)),))[1] == pytest.approx(2 * X.sum())


@pytest.mark.parametrize(
    ("f", "slopes"),
    [
        (lambda x: pd.Series(x).apply(lambda v: v**2 + 1).sum(), 2 * np.array([0.5, 1.0, 2.0])),
        (lambda x: pd.Series(x).map(lambda v: 2 * v if v > 0.7 else np.nan).sum(), [0.0, 2.0, 2.0]),
        (lambda x: (pd.Series(x) * pd.Series(["a", "bc", "d"]).apply(len)).sum(), [1.0, 2.0, 1.0]),
    ],
)
def test_a_function_of_each_element(f: Any, slopes: Any) -> None:
    x = np.array([0.5, 1.0, 2.0])
    value, gradient = wg.value_and_grad(f)(x)
    assert value == f(x)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-14)


@pytest.mark.parametrize("table", [pd.Series(X, index=list("abcdef")), pd.DataFrame({"a": X, "b": X**2, "k": KEYS})])
def test_other_derivatives_of_a_table(table: Any) -> None:
    numbers = table if isinstance(table, pd.Series) else table[["a", "b"]]
    cubes = lambda t: (t if isinstance(t, pd.Series) else t[["a", "b"]]) ** 3
    loss = lambda t: cubes(t).to_numpy().sum()
    flat = numbers.to_numpy().T.ravel()
    np.testing.assert_allclose(wg.jacobian(cubes, as_matrix=True)(table), np.diag(3 * flat**2))
    np.testing.assert_allclose(wg.hessian(loss, as_matrix=True)(table), np.diag(6 * flat))
    product = wg.hvp(loss, table, table)
    np.testing.assert_allclose(product if table is numbers else product[["a", "b"]], 6 * numbers**2)
    y, y_dot = wg.jvp(cubes, (table,), (table,))
    assert type(y_dot) is type(y)
    np.testing.assert_allclose(y_dot, 3 * numbers**3)
    wg.check_grads(loss, table)
    for derivative in (wg.jacobian, wg.jacrev, wg.jacfwd):
        with pytest.raises(wg.ArgumentError, match=f"more than a {type(table).__name__} can hold"):
            derivative(cubes)(table)
    with pytest.raises(wg.ArgumentError, match="Pass as_matrix=True"):
        wg.hessian(loss)(table)


def test_jacobians_that_fit_into_a_series() -> None:
    s = pd.Series(X, index=list("abcdef"))
    pd.testing.assert_series_equal(wg.jacobian(lambda s: (s**2).sum())(s), 2 * s)
    pd.testing.assert_series_equal(wg.jacobian(lambda t: s * t**2)(3.0), 6 * s)


def test_a_compiled_gradient_of_a_series() -> None:
    s = pd.Series(X, name="height")
    compiled = wg.compile(wg.grad(lambda s: (s**2).sum()))
    with pytest.warns(wg.NotCompiledWarning, match="runs uncompiled"):
        pd.testing.assert_series_equal(compiled(s), 2 * s)
    pd.testing.assert_series_equal(compiled(2 * s), 4 * s)
