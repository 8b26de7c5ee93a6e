"""Programs in which a value passes through numbers of other kinds, threads, references and solvers, for `test_opaque`."""

# ruff: noqa (each is a line or two as a user would write it)

from __future__ import annotations

import asyncio
import codecs
import concurrent.futures
import contextvars
import datetime
import decimal
import fractions
import hashlib
import inspect
import math
import multiprocessing.pool
import queue
import random
import re
import statistics
import struct
import sys
import threading
import types
import weakref

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.optimize
from opaque_programs import Box
from opaque_table import Cases

cases = Cases()
number, vector = cases.number, cases.vector

# -- numbers of other kinds


@number
def timedelta(x):
    return datetime.timedelta(seconds=x).total_seconds()


@number
def number_of_a_decimal(x):
    return float(decimal.Decimal.from_float(x) ** 2)


@number
def rational_arithmetic(x):
    return float(fractions.Fraction(x).limit_denominator(1000) * 2)


@number
def mantissa_and_exponent(x):
    m, e = math.frexp(x)
    return math.ldexp(m, e)


@number
def integer_and_fraction(x):
    f, i = math.modf(x)
    return f * i + math.fmod(x, 0.7) + math.remainder(x, 0.7)


@number
def next_float(x):
    return math.nextafter(x, 2.0) + math.ulp(x) + np.nextafter(x, 2.0) + np.spacing(x)


@number
def rounded(x):
    return round(x, 0) * x + int(x * 9) * x + math.floor(x) + x // 0.7 + np.rint(x)


@number
def hashed(x):
    return x * (hash(x) != 0) + len(hashlib.sha256(b"a").digest())


@number
def hashed_bytes(x):
    return hashlib.sha256(struct.pack("d", x)).digest()[0] * 1.0


@number
def seeded(x):
    return random.Random(x).random()


@number
def shape_of_a_distribution(x):
    return np.random.default_rng(2).weibull(x) + np.random.default_rng(2).pareto(x)


@number
def inverse_of_a_normal(x):
    return statistics.NormalDist(x, 1.0).inv_cdf(0.3)


@number
def normal_density(x):
    return statistics.NormalDist(x, 2.0).pdf(0.5) * statistics.NormalDist(0.0, x).cdf(0.25)


# -- threads, processes, loops


@number
def thread_pool(x):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: x * 2).result()


@number
def thread_pool_map(x):
    with multiprocessing.pool.ThreadPool(1) as pool:
        return sum(pool.map(math.sqrt, [x, x * 2]))


@number
def event_loop(x):
    async def main():
        await asyncio.sleep(0)
        return x * x

    return asyncio.run(main())


@number
def timer(x):
    out = []
    t = threading.Timer(0.001, lambda: out.append(x * 3))
    t.start()
    t.join()
    return out[0]


@number
def thread_local(x):
    local = threading.local()
    local.v = x
    return local.v * 2


@number
def queues(x):
    q, s = queue.Queue(), queue.SimpleQueue()
    q.put(x)
    s.put(x * 2)
    return q.get() * s.get()


@number
def context_variables(x):
    var = contextvars.ContextVar("var")
    var.set(x)
    return var.get() * contextvars.copy_context().run(lambda: var.get() * 2)


# -- references and introspection


@number
def weak_references(x):
    box = Box(x)
    ref, proxy = weakref.ref(box), weakref.proxy(box)
    table = weakref.WeakKeyDictionary({box: x * 2})
    return ref().v * proxy.v + table[box]


@number
def weak_finalizer(x):
    out, box = [x], Box(x)
    weakref.finalize(box, lambda: out.append(x * x))
    del box
    return out[-1]


@number
def bound_arguments(x):
    def f(a, b=2.0):
        return a * b

    bound = inspect.signature(f).bind(x)
    bound.apply_defaults()
    return f(*bound.args) + inspect.getcallargs(f, x)["a"]


@number
def closure_contents(x):
    def f():
        return x

    return f.__closure__[0].cell_contents * 2 + inspect.getclosurevars(f).nonlocals["x"]


@number
def cells_made_by_hand(x):
    cell = types.CellType(x)
    return types.FunctionType((lambda v: lambda: v * 2)(0).__code__, globals(), "f", None, (cell,))()


@number
def attribute_dictionaries(x):
    box = Box(x)
    vars(box)["w"] = x * 2
    box.__dict__.update(u=x * 3)
    return box.w * box.u + object.__getattribute__(box, "v") + types.MappingProxyType({"a": x})["a"]


@number
def callbacks_of_c(x):
    found = []
    re.sub("a", lambda m: found.append(x * 2) or "", "a")
    codecs.register_error("wengert_test", lambda e: (str(found.append(x * 3)), e.end))
    "é".encode("ascii", "wengert_test")
    return sum(found)


@number
def user_number_in_c(x):
    class Num:
        def __float__(self):
            return x * 2

        def __index__(self):
            return 2

        def __complex__(self):
            return complex(x)

    return math.sin(Num()) + math.pow(2.0, Num()) + np.sin(float(Num())) + complex(Num()).real


@number
def sequence_in_c(x):
    class Items:
        def __len__(self):
            return 2

        def __getitem__(self, k):
            if k > 1:
                raise IndexError
            return x * (k + 1)

    return np.array(Items()).sum() + math.fsum(Items()) + sum(Items()) + max(Items()) + np.sum(Items())


@number
def traced_and_profiled(x):
    seen = []
    sys.setprofile(lambda *args: seen.append(1))
    try:
        return (lambda v: v * v)(x)
    finally:
        sys.setprofile(None)


# -- solvers


@number
def solved_by_radau(x):
    return scipy.integrate.solve_ivp(lambda t, y: -x * y, (0.0, 0.5), [1.0], method="Radau", rtol=1e-9, atol=1e-9).y[
        0, -1
    ]


@number
def solved_by_backward_differences(x):
    return scipy.integrate.solve_ivp(lambda t, y: -x * y, (0.0, 0.5), [1.0], method="BDF", rtol=1e-9, atol=1e-9).y[
        0, -1
    ]


@number
def solved_by_fortran(x):
    return scipy.integrate.solve_ivp(lambda t, y: -x * y, (0.0, 0.5), [1.0], method="LSODA", rtol=1e-11, atol=1e-11).y[
        0, -1
    ]


@number
def integrated_by_fortran(x):
    return (
        scipy.integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 0.5])[-1, 0]
        + scipy.integrate.quad(lambda t: x * t, 0, 1)[0]
    )


@number
def root_found_in_c(x):
    return scipy.optimize.brentq(lambda t: t * t - x, 0.0, 3.0)


@number
def minimum_found(x):
    return scipy.optimize.minimize_scalar(lambda t: (t - x) ** 2).x


@vector
def interpolated(x):
    return scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x)(0.7)
