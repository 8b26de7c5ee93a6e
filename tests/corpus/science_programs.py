"""Programs of `programs.py` as scientists write them: estimators, solvers, filters, losses, models in classes."""

# ruff: noqa (each is as a scientist writes it)

from __future__ import annotations

import abc
import bisect
import collections
import dataclasses
import functools
import heapq
import io
import itertools
import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.stats
from program_table import Programs

import wengert as wg

program = Programs()

A = np.array
V = A([1.03, 2.06, 0.52, 1.71])
M = A([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.1]])


@program(V)
def counter_by_hand(x):
    n = collections.Counter(int(v) for v in x)
    return n[1] * x.sum()


@program(V)
def counter_list(x):
    n = collections.Counter([int(v) for v in x])
    return n.most_common(1)[0][1] * x.sum()


@program(V)
def jitter_seeded(x):
    rng = np.random.default_rng(0)
    return np.sum((x + 0.1 * rng.normal(size=x.shape)) ** 2)


@program(V)
def dropout(x):
    rng = np.random.default_rng(0)
    m = rng.random(x.shape) > 0.5
    return np.sum(np.where(m, x / 0.5, 0.0) ** 2)


@program(V)
def minibatch(x):
    rng = np.random.default_rng(0)
    i = rng.choice(4, 2, replace=False)
    return np.sum(x[i] ** 3)


@program(V)
def spectral_hand(x):
    n = len(x)
    F = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
    return np.sum(np.abs(F @ x) ** 2)


@program(V)
def softmax_ce(x):
    z = x - x.max()
    q = np.exp(z) / np.exp(z).sum()
    return -np.log(q[2])


@program(V)
def norm_logpdf(x):
    return np.sum(scipy.stats.norm.logpdf(x))


@program(M)
def mvn(x):
    L = np.linalg.cholesky(x)
    z = np.linalg.solve(L, np.ones(3))
    return z @ z + 2 * np.sum(np.log(np.diag(L)))


@program(M)
def gp(x):
    K = np.exp(-0.5 * np.sum((x[:, None] - x[None]) ** 2, -1)) + 0.1 * np.eye(3)
    return np.linalg.slogdet(K)[1] + np.ones(3) @ np.linalg.solve(K, np.ones(3))


@program(M)
def eig_pow(x):
    v = np.ones(3)
    for _ in range(20):
        v = x @ v
        v /= np.linalg.norm(v)
    return v @ x @ v


@program(M)
def expm_series(x):
    T = S = np.eye(3)
    for k in range(1, 12):
        T = T @ x / k
        S = S + T
    return np.trace(S)


@program(M)
def pdist_hand(x):
    return sum(np.linalg.norm(a - b) for a, b in itertools.combinations(x, 2))


@program(V)
def rk4(x):
    def f(t, y):
        return np.array([y[1], -x[0] * y[0] - x[1] * y[1]])

    y = np.array([1.0, 0.0])
    h = 0.1
    for k in range(5):
        k1 = f(0, y)
        k2 = f(0, y + h / 2 * k1)
        k3 = f(0, y + h / 2 * k2)
        k4 = f(0, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[0]


@program(V)
def leapfrog(x):
    q, v = x.copy(), np.zeros(4)
    for _ in range(5):
        v -= 0.05 * q
        q += 0.1 * v
        v -= 0.05 * q
    return np.sum(q**2)


@program(V)
def heat(x):
    u = np.zeros(10)
    u[3:7] = x
    for _ in range(5):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


@program(V)
def upwind(x):
    u = x
    for _ in range(3):
        u = np.where(u > 1, u - 0.1 * (u - np.roll(u, 1)), u)
    return np.sum(u * u)


@program(V)
def tridiag(x):
    n = len(x)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = 0.5 / (x[0] + 2)
    d[0] = 1 / (x[0] + 2)
    for i in range(1, n):
        m = x[i] + 2 - 0.5 * c[i - 1]
        c[i] = 0.5 / m
        d[i] = (1 - 0.5 * d[i - 1]) / m
    s = np.zeros(n)
    s[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        s[i] = d[i] - c[i] * s[i + 1]
    return s.sum()


@program(V)
def newton_root(x):
    y = 1.0
    while abs(y * y - x[0]) > 1e-12:
        y -= (y * y - x[0]) / (2 * y)
    return y * x[1]


@program(V)
def brent(x):
    return scipy.optimize.brentq(lambda t: t**3 - 2, 0, 3) * x.sum()


@program(V)
def simpson(x):
    return scipy.integrate.simpson(x, dx=0.1)


@program(V)
def interp(x):
    return np.interp(0.7, np.arange(4.0), x) + np.interp(x[0], np.arange(5.0), np.arange(5.0) ** 2)


@program(V)
def vander(x):
    return np.linalg.lstsq(np.vander(np.arange(4.0), 2), x, rcond=None)[0][0]


@program(V)
def ema(x):
    return list(itertools.accumulate(x, lambda a, b: 0.9 * a + 0.1 * b))[-1]


@program(V)
def zscore(x):
    return np.sum(((x - x.mean()) / x.std(ddof=1)) ** 3)


@program(V)
def quantile_loss(x):
    e = x - np.median(x)
    return np.sum(np.maximum(0.3 * e, -0.7 * e))


@program(V)
def gini(x):
    s = np.sort(x)
    return np.sum((2 * np.arange(1, 5) - 5) * s) / (4 * s.sum())


@program(V)
def topk(x):
    return np.sum(x[np.argsort(x)[-2:]] ** 2)


@program(V)
def ranks(x):
    r = np.empty(4)
    r[np.argsort(x)] = np.arange(4.0)
    return r @ x


@program(V)
def groupby_sum(x):
    g = A([0, 1, 0, 1])
    s = np.zeros(2)
    np.add.at(s, g, x)
    return np.sum(s**2)


@dataclasses.dataclass
class Params:
    w: np.ndarray
    b: float
    name: str = "m"

    def __post_init__(self):
        self.n = len(self.w)


@program(V)
def dclass(x):
    q = dataclasses.replace(Params(x[:2], x[2]), b=x[3])
    return np.sum(q.w) * q.b * q.n


class Layer(abc.ABC):
    @abc.abstractmethod
    def __call__(self, x): ...


class Dense(Layer):
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return np.tanh(self.w * x)


@program(V)
def net(x):
    return functools.reduce(lambda h, l: l(h), [Dense(v) for v in x], 1.0)


@program(V)
def nt(x):
    S = collections.namedtuple("S", "q v")
    s = S(x[0], x[1])
    for _ in range(3):
        s = s._replace(q=s.q + 0.1 * s.v, v=s.v - 0.1 * s.q)
    return s.q


@program(V)
def cached_prop(x):
    class O:
        @functools.cached_property
        def e(self):
            return np.sum(x**2)

    o = O()
    return o.e * o.e


@program(V)
def memo_fib(x):
    @functools.lru_cache(None)
    def f(n):
        return x[0] if n == 0 else x[1] if n == 1 else f(n - 1) + f(n - 2) * x[2]

    return f(6)


@program(V)
def str_dispatch(x):
    return sum({"a": np.sin, "b": np.cos}[k](v) for k, v in zip("abab", x))


@program(V)
def gen(x):
    def g():
        s = 0.0
        for v in x:
            s = s * 0.5 + v
            yield s

    return sum(g())


@program(V)
def complex_(x):
    z = x[0] + 1j * x[1]
    return abs(np.exp(z)) ** 2 + (z * z.conjugate()).real


@program(V)
def roots(x):
    return np.abs(np.roots([1.0, x[0], x[1]])).sum()


@program(V)
def kalman(x):
    m, Pq = 0.0, 1.0
    ll = 0.0
    for z in x:
        Pq += 0.1
        K = Pq / (Pq + 0.5)
        ll -= 0.5 * (z - m) ** 2 / (Pq + 0.5)
        m += K * (z - m)
        Pq *= 1 - K
    return ll


@program(V)
def viterbi(x):
    d = x.copy()
    T = np.ones((4, 4)) + np.eye(4)
    for _ in range(3):
        d = np.max(d[:, None] + np.log(T), axis=0) + x
    return d.max()


@program(V)
def hmm_forward(x):
    Tm = np.exp(x[:2]) / np.exp(x[:2]).sum()
    a = np.array([0.5, 0.5])
    for _ in range(3):
        a = a * Tm
        a = a / a.sum()
    return np.log(a[0])


@program(V)
def dtw(x):
    D = np.full((5, 5), np.inf)
    D[0, 0] = 0
    for i in range(4):
        for j in range(4):
            D[i + 1, j + 1] = abs(x[i] - x[j] * 1.1) + min(D[i, j + 1], D[i + 1, j], D[i, j])
    return D[4, 4]


@program(V)
def list_sort_obj(x):
    es = sorted([{"v": v, "k": k} for k, v in enumerate(x)], key=lambda e: -e["v"])
    return sum(e["v"] * (r + 1) for r, e in enumerate(es))


@program(V)
def heap(x):
    h = list(x)
    heapq.heapify(h)
    t = 0.0
    while len(h) > 1:
        a = heapq.heappop(h) + heapq.heappop(h)
        t += a
        heapq.heappush(h, a)
    return t


@program(V)
def bisecting(x):
    c = np.cumsum(x)
    return x[np.searchsorted(c, 2.5)] * c[-1] + x[bisect.bisect([1, 2], x[0])]


@program(V)
def autosave(x):
    b = io.StringIO()
    b.write(f"{x[0]}")
    return np.sum(x)


@program(V)
def masked(x):
    m = x > 0.9
    return x[m].mean() + x[m].std() + np.average(x, weights=m)


@program(V)
def argmin_grid(x):
    g = np.linspace(0, 3, 31)
    return g[np.argmin((g - x[0]) ** 2)] * x[1]


@program(V)
def hessvec(x):
    return wg.grad(lambda v: wg.grad(lambda w: np.sum(np.sin(w) * w))(v) @ np.ones(4))(x) @ x


@program(V)
def lorenz_dict(x):
    s = dict(x=x[0], y=x[1], z=x[2])
    for _ in range(5):
        s = {**s, "x": s["x"] + 0.01 * 10 * (s["y"] - s["x"]), "y": s["y"] + 0.01 * (s["x"] * (28 - s["z"]) - s["y"])}
    return s["y"]


@program(V)
def isclose_early(x):
    y = x
    for _ in range(60):
        z = np.cos(y)
        if np.allclose(z, y):
            break
        y = z
    return y.sum()


@program(V)
def hist_w(x):
    return np.histogram([0.1, 0.2, 0.7, 0.9], bins=2, weights=x)[0] @ np.arange(2.0)


@program(V)
def triu(x):
    L = np.zeros((3, 3))
    L[np.tril_indices(2)] = x[:3]
    L[2, 2] = x[3]
    return np.linalg.det(L + np.eye(3))


@program(V)
def fillDiag(x):
    L = np.zeros((4, 4))
    np.fill_diagonal(L, x)
    return np.linalg.det(L)


@program(V)
def ddict(x):
    d = collections.defaultdict(list)
    for i, v in enumerate(x):
        d[i % 2].append(v)
    return sum(np.prod(v) for v in d.values())
