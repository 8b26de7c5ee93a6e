"""Programs that meet what is outside of them: caches, foreign memory, class machinery, bits and identities."""

# ruff: noqa (each is as short as it can be written)

from __future__ import annotations

import array
import cmath
import ctypes
import decimal
import enum
import fractions
import functools
import heapq
import io
import itertools
import json
import math
import pickle
import struct
import types
import weakref

import numpy as np
from hostile_table import Hostiles

import wengert as wg

hostile = Hostiles()

V = np.array([0.7, -1.2, 2.0])

# -- class machinery


@hostile(1.5)
def enum_with_init():
    def f(x):
        class Scale(enum.Enum):
            A = 2.0
            B = 3.0

            def __init__(self, k):
                self.k = k * x

        return Scale.A.k * Scale.B.k

    return f


@hostile(1.5)
def float_enum():
    def f(x):
        class E(float, enum.Enum):
            A = x * 2
            B = x * x

        return E.A * E.B

    return f


@hostile(1.5)
def enum_value_attribute():
    def f(x):
        class E(enum.Enum):
            A = x * 2

        return E.A.value * x

    return f


@hostile(1.5)
def enum_new():
    def f(x):
        class E(enum.Enum):
            A = 2

            def __new__(cls, k):
                self = object.__new__(cls)
                self._value_ = k
                self.scaled = k * x * x
                return self

        return E.A.scaled

    return f


@hostile(1.5)
def mro_entries():
    def f(x):
        class Made:
            value = None

        class Entry:
            def __mro_entries__(self, bases):
                Made.value = x * x
                return (Made,)

        class C(Entry()):
            pass

        return C.value * 2

    return f


@hostile(1.5)
def set_name_partial():
    def f(x):
        out = []

        class D:
            pass

        def note(scale, owner, name):
            out.append(scale * x)

        D.__set_name__ = staticmethod(functools.partial(note, x))  # from 3.14 a partial binds as functions do

        class C:
            d = D()

        return out[0] if out else x

    return f


@hostile(1.5)
def init_subclass_computes():
    def f(x):
        class Base:
            def __init_subclass__(cls, k=1.0, **kw):
                super().__init_subclass__(**kw)
                cls.k = k * x

        class C(Base, k=x * 3):
            pass

        return C.k

    return f


@hostile(1.5)
def metaclass_prepare_and_call():
    def f(x):
        class Meta(type):
            @classmethod
            def __prepare__(mcs, name, bases, **kw):
                return {"seed": x * 2}

            def __call__(cls, *args):
                made = super().__call__(*args)
                made.extra = cls.seed * x
                return made

        class C(metaclass=Meta):
            half = seed / 4

        return C().extra * C.half

    return f


@hostile(1.5)
def cached_property_and_descriptor():
    def f(x):
        class D:
            def __get__(self, it, owner=None):
                return it.x * x

        class C:
            d = D()

            def __init__(self):
                self.x = x

            @functools.cached_property
            def twice(self):
                return self.d * 2

        c = C()
        return c.twice + c.twice * c.d

    return f


@hostile(1.5)
def dataclass_with_default_factory():
    import dataclasses

    def f(x):
        C = dataclasses.make_dataclass(
            "C", [("a", float, x * 2), ("b", list, dataclasses.field(default_factory=lambda: [x]))]
        )
        return C().a * C().b[0] + C(x * x).a

    return f


# -- memory


@hostile(1.5)
def memoryview_made_before():
    buf = np.zeros(3)
    mv = memoryview(buf)

    def f(x):
        buf[0] = x * x
        return mv[0] * 2

    return f


@hostile(1.5)
def array_over_array_array():
    store = array.array("d", [0.0, 0.0])
    a = np.frombuffer(store)

    def f(x):
        a[0] = x * 2
        return store[0] * 3

    return f


@hostile(1.5)
def ctypes_pointer_to_an_array():
    a = np.zeros(2)
    p = a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def f(x):
        a[1] = x
        return p[1] * 3

    return f


@hostile(1.5)
def frombuffer_of_an_array():
    a = np.zeros(2)
    b = np.frombuffer(a)

    def f(x):
        a[0] = x * 3
        return b[0] * x

    return f


@hostile(1.5)
def interface_object_shares_memory():
    a = np.zeros(2)

    class Shares:
        __array_interface__ = a.__array_interface__
        keep = a

    b = np.asarray(Shares())

    def f(x):
        a[0] = x * 3
        return b[0] * x

    return f


@hostile(1.5)
def flat_iterator_made_before():
    a = np.zeros(4)
    it = a.flat

    def f(x):
        a[2] = x * x
        return it[2] * 3 + next(it)

    return f


@hostile(1.5)
def nditer_made_before():
    a = np.zeros(2)
    it = np.nditer(a)

    def f(x):
        it.reset()
        a[0] = x * x
        return float(next(it)) * 2

    return f


@hostile(1.5)
def view_made_before_by_strides():
    a = np.zeros(4)
    w = np.lib.stride_tricks.sliding_window_view(a, 2)
    t = a.reshape(2, 2).T

    def f(x):
        a[1] = x * x
        return w[0, 1] * t[1, 0]

    return f


@hostile(1.5)
def record_array_field_view():
    a = np.zeros(2, dtype=[("u", float), ("v", float)])
    u = a["u"]

    def f(x):
        u[0] = x * 2
        return a["u"][0] * a[0]["u"]

    return f


@hostile(1.5)
def bytes_io_buffer():
    raw = io.BytesIO(b"\0" * 16)
    a = np.frombuffer(raw.getbuffer())

    def f(x):
        a[0] = x * 2
        return struct.unpack("d", raw.getvalue()[:8])[0]

    return f


@hostile(1.5)
def struct_packs_into():
    def f(x):
        raw = bytearray(16)
        struct.pack_into("d", raw, 0, x)
        return np.frombuffer(raw)[0] * 3

    return f


@hostile(1.5)
def data_attribute():
    def f(x):
        a = np.zeros(2)
        a[0] = x * 2
        return memoryview(a)[0] * 2 + a.data[0]

    return f


# -- caches


@hostile(1.5)
def memo_dict():
    memo = {}

    def f(x):
        if x not in memo:
            memo[x] = x**3
        return memo[x]

    f(1.5)
    return f


@hostile(1.5)
def memo_by_get():
    memo = {}

    def f(x):
        y = memo.get(x)
        if y is None:
            y = memo[x] = math.sin(x)
        return y

    f(1.5)
    return f


@hostile(1.5)
def memo_by_try():
    memo = {}

    def f(x):
        try:
            return memo[x, 2]
        except KeyError:
            memo[x, 2] = x**2
            return memo[x, 2]

    f(1.5)
    return f


@hostile(1.5)
def memo_by_setdefault_and_repr():
    memo = {}

    def f(x):
        return memo.setdefault(repr(x), x * x)

    f(1.5)
    return f


@hostile(V)
def memo_by_bytes():
    memo = {}

    def f(x):
        key = x.tobytes()
        if key not in memo:
            memo[key] = np.sum(x**3)
        return memo[key]

    f(V)
    return f


@hostile(V)
def memo_by_tuple_of_list():
    memo = {}

    def f(x):
        key = tuple(x)
        if key not in memo:
            memo[key] = np.sum(x**3)
        return memo[key]

    f(V)
    return f


@hostile(V)
def model_keeps_last_parameters():
    class Model:
        def __init__(self):
            self.p = np.zeros(3)
            self.val = 0.0

        def __call__(self, p):
            if not np.array_equal(p, self.p):
                self.p = p.copy()
                self.val = np.sum(p**2)
            return self.val

    model = Model()
    model(V)
    return lambda x: model(x)


@hostile(V)
def model_compares_by_all():
    class Model:
        key, val = None, None

        def __call__(self, p):
            if self.key is None or (self.key != p).any():
                self.key, self.val = np.array(p), np.sum(np.sin(p))
            return self.val

    model = Model()
    model(V)
    return model


@hostile(1.5)
def scalar_key_compared():
    class Model:
        key, val = None, None

        def __call__(self, p):
            if self.key != p:
                self.key, self.val = p, p**4
            return self.val

    model = Model()
    model(1.5)
    return model


@hostile(1.5)
def lru_cache_outside():
    @functools.lru_cache
    def g(x):
        return x**3

    g(1.5)
    return lambda x: g(x) * x


@hostile(V)
def scipy_memoize_jac():
    from scipy.optimize._optimize import MemoizeJac

    fun = MemoizeJac(lambda p: (np.sum(p**2), 2 * p))
    fun(V)
    return lambda x: fun(x)


@hostile(V)
def cache_by_allclose_and_linear_search():
    store = []

    def f(x):
        for key, value in store:
            if np.allclose(key, x):
                return value
        value = np.sum(x**3)
        store.append((x.copy(), value))
        return value

    f(V)
    return f


@hostile(1.5)
def cache_by_isclose():
    store = []

    def f(x):
        for key, value in store:
            if math.isclose(key, x):
                return value
        store.append((x, x**3))
        return store[-1][1]

    f(1.5)
    return f


@hostile(1.5)
def cache_by_list_index():
    keys, values = [], []

    def f(x):
        if x in keys:
            return values[keys.index(x)]
        keys.append(x)
        values.append(x**3)
        return values[-1]

    f(1.5)
    return f


@hostile(1.0, expected=5.0)
def compare_with_literals_is_fine():
    def f(x):
        if x == 1.0 or x == 0:
            return x * 5
        return x

    return f


@hostile(0.7)
def fixed_point_until_equal():
    def f(x):
        y, old = x, None
        while y != old:
            old, y = y, (y + x / y) / 2
        return y

    return f


# -- floats taken apart


@hostile(1.5)
def as_integer_ratio():
    def f(x):
        n, d = x.as_integer_ratio()
        return n / d * 2

    return f


@hostile(1.5)
def frexp_mantissa_as_integer():
    def f(x):
        m, e = math.frexp(x)
        return int(m * 2**53) * 2.0 ** (e - 53)

    return f


@hostile(1.5)
def hex_and_back():
    return lambda x: float.fromhex(x.hex()) * 2


@hostile(1.5)
def struct_and_back():
    return lambda x: struct.unpack("<d", struct.pack("<d", x))[0] * 2


@hostile(1.5)
def view_as_integers():
    return lambda x: np.array([x]).view(np.int64).view(np.float64)[0] * 2


@hostile(1.5)
def astype_integers_scaled():
    return lambda x: (np.array([x]) * 2**40).astype(np.int64)[0] / 2**40 * 2


@hostile(1.5)
def divmod_digits():
    def f(x):
        whole, digits = 0, x
        for _ in range(3):
            whole = whole * 10 + int(digits)
            digits = (digits - int(digits)) * 10
        return whole / 100 * 2

    return f


@hostile(1.5)
def text_digits():
    return lambda x: float(f"{x:.12f}") * 2


@hostile(1.5)
def pickled_and_back():
    return lambda x: pickle.loads(pickle.dumps([x]))[0] * 2


@hostile(1.5)
def json_and_back():
    return lambda x: json.loads(json.dumps({"x": x}))["x"] * 2


@hostile(1.5)
def complex_text():
    return lambda x: complex(str(complex(x, 2 * x))).imag


@hostile(1.5)
def fraction_and_decimal():
    return lambda x: float(fractions.Fraction(x)) + float(decimal.Decimal(x)) + float(fractions.Fraction.from_float(x))


@hostile(1.5)
def mpmath_numbers():
    try:
        import mpmath
    except ImportError:
        return lambda x: x
    return lambda x: float(mpmath.mpf(x) ** 2)


@hostile(1.5)
def array_array_and_bytes():
    return lambda x: array.array("d", [x, x])[0] * float(np.frombuffer(np.array([x]).tobytes())[0])


@hostile(1.5)
def trunc_floor_scaled():
    return lambda x: math.floor(x * 2**30) / 2**30 * 2 + math.trunc(x * 2**30) / 2**30


@hostile(1.5)
def round_to_digits():
    return lambda x: round(x, 6) * 2


# -- the net under all


@hostile(1.5)
def only_integer_path():
    return lambda x: float(int(x * 1000)) / 1000


@hostile(1.5)
def only_comparison_path():
    return lambda x: 1.0 if x > 1 else 0.5


@hostile(V)
def only_count_path():
    return lambda x: float(np.count_nonzero(x > 0)) + np.argmax(x) * 1.0


# -- identity and flags


@hostile(1.5, expected=2.0)
def is_default():
    DEFAULT = 1.5

    def f(x=DEFAULT):
        return x * 2 if x is DEFAULT else x * 3

    return lambda x: f(x)


@hostile(1.5)
def is_nan_object():
    return lambda x: x * 2 if x is np.nan else x * 3


@hostile(V)
def is_same_array():
    class Model:
        p = V

        def __call__(self, x):
            return np.sum(x * 2) if x is self.p else np.sum(x * 3)

    return lambda x: Model()(x)


@hostile(V.copy())
def owns_its_data():
    return lambda x: np.sum(x * (2.0 if x.flags.owndata else 3.0)) + np.sum(x * (2.0 if x.base is None else 3.0))


@hostile(V)
def identity_of_two_names():
    def f(x):
        y = x
        z = x[:]
        return np.sum(x * (2 if y is x else 3) * (5 if z is x else 7))

    return f


@hostile(1.5)
def identity_in_containers():
    def f(x):
        items = [x, x * 1.0]
        return x * items.count(x) * (1 + items.index(x)) * (2 if x in items else 3)

    return f


@hostile(1.5)
def identity_by_id():
    def f(x):
        table = {id(x): x * 4}
        y = x
        return table[id(y)]

    return f


# -- crashes


@hostile(1.5)
def max_of_tuples():
    return lambda x: max([(x, 1.0), (2 * x, 2.0)])[0] * min([(x, 5.0), (x, 3.0)])[1] * x


@hostile(1.5)
def min_of_generator_of_tuples():
    return lambda x: min((abs(x - c), c * x) for c in [0.0, 1.0, 4.0])[1]


@hostile(1.5)
def sort_and_heap_of_tuples():
    def f(x):
        items = [(x * 2, "b", 3.0), (x, "a", x * x)]
        heap = list(items)
        heapq.heapify(heap)
        return sorted(items)[0][2] * heapq.heappop(heap)[0] * sorted(items, reverse=True)[0][0]

    return f


@hostile(1.5)
def compare_lists_and_tuples():
    def f(x):
        return (
            (x if [x, 1] < [x, 2] else 2 * x)
            * (3 if (x, x) == (x, x * 1.0) else 4)
            * (5 if (x, 2) >= (x * 2, 1) else 6)
        )

    return f


@hostile(V)
def tile_resize_with_numpy_integers():
    n = np.int64(2)

    def f(x):
        return (
            np.sum(np.tile(x, n) * np.arange(6.0))
            + np.sum(np.resize(x, np.int32(5)) ** 2)
            + np.sum(np.roll(x, np.uint8(1)) * x)
            + np.sum(np.repeat(x, np.array(n)) ** 3)
            + np.sum(np.expand_dims(x, np.int64(0)).sum(axis=np.int8(1)) ** 2)
        )

    return f


@hostile(V)
def isscalar_and_sparse():
    import scipy.sparse as sp

    def f(x):
        if np.isscalar((x, [1])) or np.isscalar([x]):
            return np.sum(x)
        return np.sum(x * x)

    return f


@hostile(np.array([np.inf, 2.0, 3.0]), expected=np.array([0.0, 3.0, 2.0]))
def unread_infinite_part_of_a_product():
    return lambda x: np.cumprod(x[::-1])[1]


@hostile(V)
def add_inplace_nested():
    from wengert.extend import add_inplace

    def g(x):
        return x * x * 2

    @wg.rrule(g)
    def rule(x):
        def back(y_bar):
            total = np.zeros(3)
            total = add_inplace(total, 2 * x * y_bar)
            return add_inplace(total, 2 * x * y_bar)

        return g(x), back

    return lambda x: np.sum(wg.grad(lambda t: np.sum(g(t) * t))(x) * x)
