"""What a function keeps: a cache that it writes is told however it is written, what it only reads is silent."""

# ruff: noqa (each program is as short as it can be written)

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import operator
import types
import warnings

import numpy as np
import pytest

import wengert as wg

CACHES, SETTINGS = {}, {}
V = np.array([0.7, -1.2, 2.0])


def cache(x):
    return lambda make: CACHES.setdefault(make.__name__, (make, x))[0]


def setting(x):
    return lambda make: SETTINGS.setdefault(make.__name__, (make, x))[0]


@cache(1.5)
def update_elsewhere():
    class M:
        k = None

        def cur(self, x):
            return self.k == x

        def update(self, x):
            self.k = x
            self.v = x**3

        def __call__(self, x):
            if not self.cur(x):
                self.update(x)
            return self.v

    return M()


@cache(1.5)
def by_dispatch():
    class M:
        pass

    m = M()
    m.k = None

    def store(x):
        m.k = x
        m.v = x**3

    T = {"store": store}

    def f(x):
        if m.k != x:
            T["store"](x)
        return m.v

    return f


@cache(1.5)
def by_alias():
    m = types.SimpleNamespace(k=None, v=None)

    def store(x):
        m.k = x
        m.v = x**3

    put = store

    def f(x):
        if m.k != x:
            put(x)
        return m.v

    return f


@cache(1.5)
def prop():
    class M:
        _k = None

        @property
        def k(self):
            return self._k

        @k.setter
        def k(self, v):
            self._k = v

        def __call__(self, x):
            if self.k != x:
                self.k = x
                self.v = x**3
            return self.v

    return M()


@cache(1.5)
def descr():
    class D:
        def __set_name__(self, o, n):
            self.n = "_" + n

        def __get__(self, o, t=None):
            return None if o is None else getattr(o, self.n, None)

        def __set__(self, o, v):
            setattr(o, self.n, v)

    class M:
        k = D()

        def __call__(self, x):
            if self.k != x:
                self.k = x
                self.v = x**3
            return self.v

    return M()


@cache(1.5)
def dunder_dict():
    class M:
        k = None

        def __call__(self, x):
            if self.k != x:
                self.__dict__.update(k=x, v=x**3)
            return self.v

    return M()


@cache(1.5)
def tuple_state():
    class M:
        state = (None, None)

        def __call__(self, x):
            k, v = self.state
            if k != x:
                self.state = k, v = x, x**3
            return v

    return M()


@cache(1.5)
def nt_state():
    S = collections.namedtuple("S", "k v")

    class M:
        s = S(None, None)

        def __call__(self, x):
            if self.s.k != x:
                self.s = self.s._replace(k=x, v=x**3)
            return self.s.v

    return M()


@cache(1.5)
def default_obj():
    class B:
        k = None

    def f(x, _b=B()):
        if _b.k != x:
            _b.k = x
            _b.v = x**3
        return _b.v

    return f


@cache(1.5)
def kwdefault():
    def f(x, *, memo={}):
        if x not in memo:
            memo[x] = x**3
        return memo[x]

    return f


@cache(1.5)
def decorator_class():
    class Memo:
        def __init__(s, f):
            s.f = f
            s.c = {}

        def __call__(s, *a):
            try:
                return s.c[a]
            except KeyError:
                return s.c.setdefault(a, s.f(*a))

    return Memo(lambda x: x**3)


@cache(1.5)
def deque_cache():
    q = collections.deque(maxlen=3)

    def f(x):
        for k, v in q:
            if k == x:
                return v
        q.append((x, x**3))
        return q[-1][1]

    return f


@cache(1.5)
def global_key():
    ns = {}
    exec("K=None\nVAL=None\ndef f(x):\n    global K,VAL\n    if K!=x:\n        K=x; VAL=x**3\n    return VAL\n", ns)
    return ns["f"]


@cache(1.5)
def outer_frame_stores():
    m = types.SimpleNamespace(k=None, v=None)

    def hit(x):
        return m.k == x

    def f(x):
        if hit(x):
            return m.v
        m.k, m.v = x, x**3
        return m.v

    return f


@cache(1.5)
def method_as_attr():
    class M:
        k = None

        def __init__(s):
            s.store = s._impl

        def _impl(s, x):
            s.k = x
            s.v = x**3

        def __call__(s, x):
            if s.k != x:
                s.store(x)
            return s.v

    return M()


@cache(1.5)
def inherited():
    class A:
        k = None

        def run(s, x):
            if s.k != x:
                s.k = x
                s.v = s.compute(x)
            return s.v

    class B(A):
        def compute(s, x):
            return x**3

    return B().run


@cache(1.5)
def super_store():
    class A:
        def put(s, x):
            s.k = x
            s.v = x**3

    class B(A):
        k = None

        def __call__(s, x):
            if s.k != x:
                super().put(x)
            return s.v

    return B()


@cache(1.5)
def ctx():
    class M:
        k = None

        def __enter__(s):
            return s

        def __exit__(s, *a):
            return False

        def __call__(s, x):
            with s:
                if s.k != x:
                    s.k, s.v = x, x**3
            return s.v

    return M()


@cache(1.5)
def generator_cache():
    memo = {}

    def g(x):
        if x not in memo:
            memo[x] = x**3
        yield memo[x]

    return lambda x: next(g(x))


@cache(1.5)
def lambda_cache():
    memo = {}
    return lambda x: memo[x] if x in memo else memo.setdefault(x, x**3)


@cache(1.5)
def walrus():
    memo = {}

    def f(x):
        if (v := memo.get(x)) is None:
            memo[x] = v = x**3
        return v

    return f


@cache(1.5)
def or_eq():
    memo = collections.defaultdict(lambda: None)

    def f(x):
        memo[x] = memo[x] or x**3
        return memo[x]

    return f


@cache(1.5)
def inplace_union():
    class M:
        memo = {}

    def f(x):
        if x not in M.memo:
            M.memo |= {x: x**3}
        return M.memo[x]

    return f


@cache(1.5)
def rebuilt_dict():
    class M:
        memo = {}

    def f(x):
        if x not in M.memo:
            M.memo = {**M.memo, x: x**3}
        return M.memo[x]

    return f


@cache(V)
def np_copyto():
    k = np.full(3, np.nan)
    v = np.zeros(1)

    def f(x):
        if not np.array_equal(k, x):
            np.copyto(k, x)
            v[0] = np.sum(x**3)
        return v[0]

    return f


@cache(V)
def np_slice():
    k = np.full(3, np.nan)
    v = np.zeros(1)

    def f(x):
        if not np.array_equal(k, x):
            k[:] = x
            v[:] = np.sum(x**3)
        return v[0]

    return f


@cache(V)
def np_fill_out():
    k = np.full(3, np.nan)
    m = types.SimpleNamespace(v=None)

    def f(x):
        if not np.array_equal(k, x):
            np.multiply(x, 1.0, out=k)
            m.v = np.sum(x**3)
        return m.v

    return f


@cache(1.5)
def by_hash():
    memo = {}

    def f(x):
        k = hash(x)
        if k not in memo:
            memo[k] = x**3
        return memo[k]

    return f


@cache(1.5)
def by_int():
    memo = {}

    def f(x):
        k = int(1e6 * x)
        if k not in memo:
            memo[k] = x**3
        return memo[k]

    return f


@cache(1.5)
def by_int_tuple():
    memo = {}

    def f(x):
        k = ("a", round(1e6 * x))
        if k not in memo:
            memo[k] = x**3
        return memo[k]

    return f


@cache(1.5)
def by_int_attr():
    m = types.SimpleNamespace(k=None, v=None)

    def f(x):
        k = int(1e6 * x)
        if m.k != k:
            m.k, m.v = k, x**3
        return m.v

    return f


@cache(1.5)
def by_hash_attr():
    m = types.SimpleNamespace(k=None, v=None)

    def f(x):
        k = hash((x, 2))
        if m.k != k:
            m.k, m.v = k, x**3
        return m.v

    return f


@cache(V)
def by_sum_key():
    memo = {}

    def f(x):
        k = float(np.sum(x * np.array([1.0, 10.0, 100.0])))
        if k not in memo:
            memo[k] = np.sum(x**3)
        return memo[k]

    return f


@cache(1.5)
def match_cache():
    m = types.SimpleNamespace(k=None, v=None)

    def f(x):
        match x:
            case m.k:
                return m.v
            case _:
                m.k, m.v = x, x**3
        return m.v

    return f


@cache(1.5)
def count_index():
    ks, vs = [], []

    def f(x):
        if ks.count(x) == 0:
            ks.append(x)
            vs.append(x**3)
        return vs[ks.index(x)]

    return f


@cache(1.5)
def setattr_cache():
    class M:
        pass

    def f(x):
        if getattr(M, "k", None) != x:
            setattr(M, "k", x)
            setattr(M, "v", x**3)
        return M.v

    return f


@cache(1.5)
def partial_state():
    def g(state, x):
        if state["k"] != x:
            state["k"] = x
            state["v"] = x**3
        return state["v"]

    return functools.partial(g, {"k": None})


@cache(1.5)
def op_setitem():
    memo = {}

    def f(x):
        if not operator.contains(memo, x):
            operator.setitem(memo, x, x**3)
        return operator.getitem(memo, x)

    return f


@cache(1.5)
def slots():
    class M:
        __slots__ = ("k", "v")

        def __init__(s):
            s.k = None

        def __call__(s, x):
            if s.k != x:
                s.k = x
                s.v = x**3
            return s.v

    return M()


@cache(1.5)
def dataclass_state():
    import dataclasses

    @dataclasses.dataclass
    class M:
        k: float = None
        v: float = None

    class R:
        s = M()

        def __call__(self, x):
            if self.s.k != x:
                self.s = dataclasses.replace(self.s, k=x, v=x**3)
            return self.s.v

    return R()


@cache(1.5)
def init_again():
    class M:
        def __init__(s, x=None):
            s.k = x
            s.v = None if x is None else x**3

    class R:
        m = M()

        def __call__(s, x):
            if s.m.k != x:
                s.m = M(x)
            return s.m.v

    return R()


@cache(1.5)
def init_explicit():
    class M:
        def __init__(s, x=None):
            s.k = x
            s.v = None if x is None else x**3

        def __call__(s, x):
            if s.k != x:
                s.__init__(x)
            return s.v

    return M()


@cache(1.5)
def class_registry():
    class P:
        reg = {}

        def __new__(cls, x):
            if x in cls.reg:
                return cls.reg[x]
            s = object.__new__(cls)
            s.v = x**3
            cls.reg[x] = s
            return s

    return lambda x: P(x).v


@cache(1.5)
def iface_store():
    class Cache:
        def __init__(s):
            s._d = {}

        def has(s, k):
            return k in s._d

        def load(s, k):
            return s._d[k]

        def keep(s, k, v):
            s._d[k] = v

    ca = Cache()

    def f(x):
        if not ca.has(x):
            ca.keep(x, x**3)
        return ca.load(x)

    return f


@pytest.mark.parametrize("name", CACHES)
def test_a_cache_is_told_however_it_is_written(name):
    make, x = CACHES[name]
    f = make()
    f(x)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gradient = wg.grad(lambda x: f(x) + np.sum(x))(x)
    right = np.allclose(gradient, 3 * x**2 + 1, rtol=1e-12)
    assert (
        right
        or any(w.category is wg.CacheWarning and "test_reachability.py:" in str(w.message) for w in told)
        or (name == "global_key" and any(w.category is wg.CacheWarning for w in told))
    )


# What is read and never written: bounds, knots, training data, a start


@setting(1.5)
def bisect():
    lo0, hi0 = 0.0, 4.0

    def f(a):
        lo, hi = lo0, hi0
        for _ in range(60):
            m = 0.5 * (lo + hi)
            if m == lo or m == hi:
                break
            if m**3 + m - a > 0:
                hi = m
            else:
                lo = m
        x = 0.5 * (lo + hi)
        return x - (x**3 + x - a) / (3 * x * x + 1)

    return f


@setting(V)
def gp_kernel():
    class K:
        def __init__(self):
            self.X = V.copy()
            self.noise = 0.1

        def __call__(self, x, y):
            k = np.exp(-0.5 * (x[:, None] - y[None, :]) ** 2)
            if np.array_equal(x, y):
                k = k + self.noise * np.eye(len(x))
            return k

    k = K()
    return lambda x: np.sum(k(x, k.X) * np.arange(3.0))


@setting(V)
def gp_white_is():
    X = V.copy()

    def f(x):
        same = x is X or np.array_equal(x, X)
        K = np.outer(x, X)
        if same:
            K = K + np.eye(3)
        return np.sum(K)

    return f


@setting(1.5)
def newton_obj():
    class Solver:
        def __init__(self):
            self.x0 = 1.5
            self.tol = 1e-12

        def run(self, a):
            x = self.x0
            for _ in range(50):
                step = (x**3 - a) / (3 * x * x)
                xn = x - step
                if abs(xn - x) < self.tol:
                    return xn
                x = xn
            return x

    s = Solver()
    return lambda a: s.run(a)


@setting(1.5)
def x_eq_x0():
    class Opt:
        def __init__(self):
            self.x0 = 1.5

        def __call__(self, x):
            if x == self.x0:
                return x * x * 3
            return (x - self.x0) ** 2

    return Opt()


@setting(1.5)
def interp_nodes():
    xs = np.array([0.0, 1.5, 3.0])
    ys = np.array([1.0, 2.0, 0.5])

    def f(x):
        i = np.searchsorted(xs, x)
        if xs[i] == x:
            return ys[i] * x
        t = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
        return ys[i - 1] * (1 - t) + ys[i] * t

    return f


@setting(1.5)
def barycentric():
    xs = np.array([0.0, 1.5, 3.0])
    ys = np.array([1.0, 2.0, 0.5])
    w = np.array([1.0, -2.0, 1.0])

    def f(x):
        d = x - xs
        if np.any(d == 0):
            return ys[np.argmin(abs(d))] + x
        return np.sum(w / d * ys) / np.sum(w / d)

    return f


@setting(V)
def relu_mask_eq():
    ref = V.copy()
    return lambda x: np.sum(np.where(x == ref, x, 2 * x))


@setting(V)
def labels():
    lab = np.array([0.7, 5.0, 2.0])
    return lambda x: np.sum(x[lab == x] ** 2) if np.any(lab == x) else np.sum(x)


@setting(V)
def conv_test():
    class It:
        tol = 1e-9

        def __init__(self):
            self.prev = None

        def __call__(self, x):
            prev = None
            y = x
            for _ in range(200):
                prev, y = y, np.cos(y)
                if np.allclose(prev, y, rtol=0, atol=1e-10):
                    break
            return np.sum(y * x)

    return It()


@setting(V)
def history():
    hist = []

    def f(x):
        hist.append(x.copy())
        return np.sum(x**2)

    return f


@setting(V)
def count_evals():
    class C:
        n = 0
        best = np.inf
        xbest = None

        def __call__(self, x):
            self.n += 1
            v = np.sum(x**2)
            if v < self.best:
                self.best = v
                self.xbest = x.copy()
            return v

    return C()


@setting(1.5)
def bounds():
    b = (0.0, 1.5)

    def f(x):
        if x == b[1]:
            return x * 2
        return x

    return f


@setting(V)
def bounds_arr():
    lb = np.array([-5.0, -1.2, 0.0])
    ub = np.array([5.0, 5.0, 2.0])

    def f(x):
        act = (x == lb) | (x == ub)
        return np.sum(np.where(act, x, x**2))

    return f


@setting(V)
def bounds_close():
    lb = np.array([-5.0, -1.2, 0.0])

    def f(x):
        act = np.isclose(x, lb)
        return np.sum(np.where(act, x, x**2))

    return f


@setting(0.0)
def prior_mean_zero():
    class M:
        mean = 0.0

        def __call__(self, x):
            if self.mean == x:
                return x * 2
            return x

    return M()


@setting(1.0)
def special_nu():
    class Matern:
        nu = 1.5

        def __call__(self, x):
            if self.nu == 0.5:
                return np.exp(-x)
            if self.nu == 1.5:
                return (1 + x * math.sqrt(3)) * np.exp(-x * math.sqrt(3))
            return x

    return Matern()


@setting(0.5)
def traced_nu():
    def matern(x, nu):
        if nu == 0.5:
            return np.exp(-x)
        return x * nu

    return lambda nu: matern(2.0, nu) * nu


@setting(1.0)
def config_default():
    DEF = {"scale": 1.0}

    def f(scale):
        if scale != DEF["scale"]:
            return scale * 3
        return scale * 2

    return f


@setting(2.0)
def table_prices():
    prices = {1.0: 3.0, 2.0: 5.0}
    return lambda x: prices[x] * x if x in prices else x


@setting(V)
def knots():
    t = np.array([-1.2, 0.7, 2.0])

    def f(x):
        out = 0.0
        for xi in x:
            for k in t:
                if xi == k:
                    out = out + xi
                else:
                    out = out + (xi - k) ** 2
        return out

    return f


@setting(V)
def data_close():
    data = V.copy()

    def f(x):
        if np.allclose(x, data):
            pass
        return np.sum((x - data) ** 2 + x)

    return f


@pytest.mark.parametrize("name", SETTINGS)
def test_what_a_function_does_not_write_is_no_cache(name):
    make, x = SETTINGS[name]
    f = make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = wg.grad(f)(x)
        np.testing.assert_array_equal(wg.grad(f)(x), first)
        value, tape = wg.trace(f, x)
    assert value == f(x) == tape.play(x)
