"""pandas: Series and DataFrames of floats, made inside the function."""

import numpy as np
import pandas as pd
from case import case

X = np.array([0.5, 1.2, 0.7, 2.1, 1.4, 0.3])
INDEX = pd.date_range("2020-01-01", periods=6)


@case(X)
def series_arithmetic(x):
    s = pd.Series(x, index=INDEX)
    return ((s * 2 + s**2) / (1 + s)).sum()


@case(X)
def log_returns(x):
    s = pd.Series(x)
    return np.log(s / s.shift(1)).dropna().std()


@case(X)
def pct_change_mean(x):
    return pd.Series(x).pct_change().mean()


@case(X)
def rolling_mean(x):
    return pd.Series(x).rolling(3).mean().dropna().to_numpy()


@case(X)
def rolling_std(x):
    return pd.Series(x).rolling(3, min_periods=2).std().iloc[1:].sum()


@case(X)
def ewm_mean(x):
    return pd.Series(x).ewm(alpha=0.3).mean().values


@case(X.reshape(3, 2))
def frame_columns(x):
    df = pd.DataFrame(x, columns=["a", "b"])
    df["c"] = df["a"] * np.exp(-df["b"])
    return df["c"].mean() + df.sum(axis=1).iloc[0]


@case(X)
def groupby_mean(x):
    df = pd.DataFrame({"k": ["a", "b", "a", "b", "a", "c"], "v": x})
    return df.groupby("k")["v"].mean().to_numpy()


@case(X)
def groupby_transform(x):
    df = pd.DataFrame({"k": [0, 1, 0, 1, 0, 1], "v": x})
    return (df["v"] - df.groupby("k")["v"].transform("mean")).pow(2).sum()


@case(X)
def cumulative(x):
    s = pd.Series(x)
    return s.cumsum().iloc[-1] + (1 + s).cumprod().max()


@case(X.reshape(3, 2))
def cov_and_corr(x):
    df = pd.DataFrame(x, columns=["a", "b"])
    return df.cov().loc["a", "b"] + df["a"].corr(df["b"])


@case(X)
def series_apply(x):
    return pd.Series(x).apply(lambda v: v**2 + 1).sum()


@case(X)
def series_where_clip(x):
    s = pd.Series(x)
    return s.where(s > 0.6, 0.0).clip(upper=2.0).sum() + s[s > 1].mean()


@case(X)
def frame_dot(x):
    df = pd.DataFrame(np.outer(x, [1.0, 2.0]), columns=["a", "b"])
    return df.dot(pd.Series([0.3, 0.7], index=["a", "b"])).sum()


@case(X)
def merged(x):
    left = pd.DataFrame({"k": [1, 2, 3], "v": x[:3]})
    right = pd.DataFrame({"k": [3, 1, 2], "w": x[3:]})
    joined = left.merge(right, on="k")
    return (joined["v"] * joined["w"]).sum()


@case(X)
def resampled(x):
    return pd.Series(x, index=INDEX).resample("2D").mean().to_numpy()


@case(X)
def interpolated(x):
    s = pd.Series(np.where(np.arange(6) == 2, np.nan, x))
    return s.interpolate().sum() + s.fillna(s.mean()).sum()


@case(X)
def quantiles(x):
    s = pd.Series(x)
    return s.quantile(0.3) + s.median() + s.describe()["75%"]
