"""Methods of Series and DataFrames that change them in place, with `inplace=True` or by their nature."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert as wg

pd = pytest.importorskip("pandas")

X = np.array([1.5, -0.5, 2.5, 0.7])


def series(x):
    return pd.Series(x * 1.0)


def gap(x):
    made = series(x)
    made.iloc[1] = np.nan
    return made


def frame(x):
    return pd.DataFrame({"a": x * 1.0, "b": x[::-1] * 2.0})


def holes(x):
    made = frame(x)
    made.iloc[1, 0] = np.nan
    return made


CHANGES = {
    "Series.fillna(0)": (gap, lambda s: s.fillna(0, inplace=True)),
    "Series.fillna(mean)": (gap, lambda s: s.fillna(s.mean(), inplace=True)),
    "Series.fillna(limit)": (gap, lambda s: s.fillna(2.0, limit=1, inplace=True)),
    "Series.ffill": (gap, lambda s: s.ffill(inplace=True)),
    "Series.bfill": (gap, lambda s: s.bfill(inplace=True)),
    "Series.replace(nan)": (gap, lambda s: s.replace(np.nan, 3.0, inplace=True)),
    "Series.replace": (series, lambda s: s.replace(9.0, 3.0, inplace=True)),
    "Series.clip": (series, lambda s: s.clip(0, 2, inplace=True)),
    "Series.where": (series, lambda s: s.where(s > 0, -s, inplace=True)),
    "Series.where(number)": (series, lambda s: s.where(s > 0, 0.0, inplace=True)),
    "Series.mask": (series, lambda s: s.mask(s > 0, s * 2, inplace=True)),
    "Series.drop": (series, lambda s: s.drop(1, inplace=True)),
    "Series.dropna": (gap, lambda s: s.dropna(inplace=True)),
    "Series.drop_duplicates": (series, lambda s: s.drop_duplicates(inplace=True)),
    "Series.sort_values": (series, lambda s: s.sort_values(ascending=False, inplace=True)),
    "Series.sort_index": (series, lambda s: s.sort_index(ascending=False, inplace=True)),
    "Series.interpolate": (gap, lambda s: s.interpolate(inplace=True)),
    "Series.rename": (series, lambda s: s.rename("q", inplace=True)),
    "Series.reset_index": (series, lambda s: s.reset_index(drop=True, inplace=True)),
    "Series.update": (series, lambda s: s.update(s * 2)),
    "Series.pop": (series, lambda s: s.pop(1)),
    "DataFrame.fillna(0)": (holes, lambda d: d.fillna(0, inplace=True)),
    "DataFrame.fillna(limit)": (holes, lambda d: d.fillna(2.0, limit=1, inplace=True)),
    "DataFrame.fillna(dict)": (holes, lambda d: d.fillna({"a": 1.0}, inplace=True)),
    "DataFrame.fillna(means)": (holes, lambda d: d.fillna(d.mean(), inplace=True)),
    "DataFrame.ffill": (holes, lambda d: d.ffill(inplace=True)),
    "DataFrame.replace(nan)": (holes, lambda d: d.replace(np.nan, 3.0, inplace=True)),
    "DataFrame.clip": (frame, lambda d: d.clip(0, 2, inplace=True)),
    "DataFrame.where": (frame, lambda d: d.where(d > 0, -d, inplace=True)),
    "DataFrame.mask(number)": (frame, lambda d: d.mask(d > 0, 1.0, inplace=True)),
    "DataFrame.drop": (frame, lambda d: d.drop(columns="a", inplace=True)),
    "DataFrame.dropna": (holes, lambda d: d.dropna(inplace=True)),
    "DataFrame.sort_values": (frame, lambda d: d.sort_values("a", inplace=True)),
    "DataFrame.interpolate": (holes, lambda d: d.interpolate(inplace=True)),
    "DataFrame.rename": (frame, lambda d: d.rename(columns={"a": "z"}, inplace=True)),
    "DataFrame.reset_index": (frame, lambda d: d.reset_index(inplace=True)),
    "DataFrame.eval": (frame, lambda d: d.eval("c = a*b", inplace=True)),
    "DataFrame.query": (frame, lambda d: d.query("a > 0", inplace=True)),
    "DataFrame.update": (frame, lambda d: d.update(d * 2)),
    "DataFrame.insert": (frame, lambda d: d.insert(0, "c", d["a"] * 2)),
}


def test_values_and_gradients_of_what_was_changed_in_place():
    wrong = []
    for name, (make, change) in CHANGES.items():

        def f(x, make=make, change=change):
            made = make(x)
            change(made)
            values = made.to_numpy(dtype=float)
            values = np.where(np.isnan(values), 0.0, values)
            return np.sum(np.cos(np.arange(values.size)).reshape(values.shape) * values**2)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                plain, (value, gradient) = f(X), wg.value_and_grad(f)(X)
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__} {error}")
                continue
            expected = wg.ngradient(f, X)[0]
        if value != plain or not np.allclose(gradient, expected, atol=1e-6):
            wrong.append(f"{name}: {value}, {gradient}; {plain}, {expected} by differences")
    assert not wrong, "\n".join(wrong)
