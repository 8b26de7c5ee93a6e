"""Programs over classes with operators, and what NumPy makes of them."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import math

import numpy as np
from program_table import LOG, V, Programs

program = Programs()

# -- operators


@program(1.3, 0.4)
def operators_of_every_kind(x, y):
    class Num:
        def __init__(self, v):
            self.v = v

        def _of(self, other):
            return other.v if isinstance(other, Num) else other

        def __add__(self, o):
            return Num(self.v + self._of(o))

        __radd__ = __add__

        def __sub__(self, o):
            return Num(self.v - self._of(o))

        def __rsub__(self, o):
            return Num(self._of(o) - self.v)

        def __mul__(self, o):
            return Num(self.v * self._of(o)) if not isinstance(o, str) else NotImplemented

        def __rmul__(self, o):
            return Num(self._of(o) * self.v * 1.5)

        def __truediv__(self, o):
            return Num(self.v / self._of(o))

        def __floordiv__(self, o):
            return Num(self.v // self._of(o))

        def __mod__(self, o):
            return Num(self.v % self._of(o))

        def __divmod__(self, o):
            return self // o, self % o

        def __pow__(self, o, mod=None):
            return Num(self.v ** self._of(o) + (mod or 0.0))

        def __rpow__(self, o):
            return Num(o**self.v)

        def __matmul__(self, o):
            return Num(self.v * self._of(o) * 2)

        def __lshift__(self, o):
            return Num(self.v * 2**o)

        def __and__(self, o):
            return Num(min(self.v, self._of(o)))

        def __or__(self, o):
            return Num(max(self.v, self._of(o)))

        def __xor__(self, o):
            return Num(self.v * 3)

        def __imul__(self, o):
            self.v = self.v * self._of(o) + 1
            return self

        def __neg__(self):
            return Num(-self.v)

        def __pos__(self):
            return Num(self.v * 1.25)

        def __invert__(self):
            return Num(1 / self.v)

        def __abs__(self):
            return Num(abs(self.v))

        def __lt__(self, o):
            return self.v < self._of(o)

        def __eq__(self, o):
            return self.v == self._of(o)

        __hash__ = None

        def __round__(self, n=None):
            return self.v * (n or 1)

        def __trunc__(self):
            return 3

        def __floor__(self):
            return self.v - 0.5

        def __ceil__(self):
            return self.v + 0.5

        def __int__(self):
            return 4

        def __index__(self):
            return 2

        def __float__(self):
            return self.v * 1.0

        def __complex__(self):
            return complex(self.v, 1.0)

        def __bool__(self):
            return self.v > 1

        def __format__(self, spec):
            return format(self.v, spec or ".2f")

    a, b = Num(x), Num(y)
    c = (a + b * 2 - 1 + 0.5 * a - (2 - b)) / (a @ b) + a**2 + 2**b + pow(a, 2, 1.0)
    q, r = divmod(a, b)
    c = c + (a << 2) + (a & b) + (a | b) + (a ^ b) + -a + +b + ~b + abs(-a) + q + r
    c *= b
    total = c.v * round(a, 2) + round(a) + math.floor(a) * math.ceil(b) + float(a) + complex(b).real
    total += [x, y, x * y][a] + int(a) + math.trunc(a) + (5.0 if a and not b and a > b and b != a else 0.0)
    LOG.append(f"{a} {b:.1f}")
    return total + np.float64(2.0) * y


@program(1.3, 0.4)
def array_ufunc_classes(x, y):
    class Unit:
        __array_priority__ = 10

        def __init__(self, v, power=1):
            self.v, self.power = v, power

        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            LOG.append((ufunc.__name__, method))
            values = [i.v if isinstance(i, Unit) else i for i in inputs]
            return Unit(getattr(ufunc, method)(*values, **kwargs), self.power + 1)

        def __array_function__(self, func, types, args, kwargs):
            return func(*[a.v if isinstance(a, Unit) else a for a in args], **kwargs) * 2

        def __add__(self, other):
            return np.add(self, other)

        def __radd__(self, other):
            return np.add(other, self)

    u = Unit(np.array([x, y]))
    w = np.multiply(u, np.array([y, 2.0])) + np.ones(2) * x
    z = np.array([x, 1.0]) + u
    return np.sin(w).v.sum() * w.power + z.v[0] + np.sum(u) + np.add.reduce(u).v


@program(V)
def numpy_numbers_and_classes(v):
    class Num:
        def __init__(self, v):
            self.v = v

        def __mul__(self, o):
            return self.v * o if isinstance(o, (int, float)) else NotImplemented

        def __rmul__(self, o):
            LOG.append(type(o).__name__)
            return o * self.v * 2

        def __rsub__(self, o):
            return o - self.v

        def __radd__(self, o):
            return NotImplemented

    class First(Num):
        __array_priority__ = 1.0

        def __rsub__(self, o):
            LOG.append(type(o).__name__)
            return o.sum() * self.v

    class Only(Num):
        __array_ufunc__ = None

        def __rmul__(self, o):
            return o[0] * self.v

    n = Num(v[1])
    try:
        v[0] + n
    except TypeError:
        total = v[0] * n - (v[2] - n) + n * v[0] + np.float64(2.0) * n
    z = np.complex128(2 + 1j) * n
    return total + (v - First(v[0])) * (v * Only(v[2])) + z.real


@program(1.3, 0.4)
def array_and_index_methods(x, y):
    class Place:
        def __index__(self):
            return 1

    class Wrapped:
        def __init__(self, a):
            self.a = a

        def __len__(self):
            return len(self.a)

        def __getitem__(self, k):
            return self.a[k]

    items, a = [x, y, x * y], np.array([x, y, 2.0])
    w = Wrapped(a)
    return (
        items[Place()] * a[Place()] + sum(items[Place() :]) + w[0] * len(w) + sum(v for v in w) + a[1:][w[1:] > 1].sum()
    )
