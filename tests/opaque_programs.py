"""Programs in which a value passes through code that cannot be seen into, for `test_opaque`."""

# ruff: noqa (each is a line or two as a user would write it)

from __future__ import annotations

import array
import ast
import asyncio
import base64
import bisect
import codecs
import concurrent.futures
import contextvars
import copy
import copyreg
import csv
import ctypes
import datetime
import decimal
import fractions
import functools
import hashlib
import inspect
import io
import json
import marshal
import math
import multiprocessing.pool
import operator
import os
import pickle
import pprint
import queue
import random
import re
import shelve
import sqlite3
import statistics
import string
import struct
import sys
import textwrap
import threading
import time
import types
import weakref
from typing import Any

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.optimize

CASES: dict[str, tuple[Any, Any]] = {}


def vector(f: Any) -> Any:
    CASES[f.__name__] = f, np.array([0.5, 1.25, 2.0])
    return f


def number(f: Any) -> Any:
    CASES[f.__name__] = f, 1.25
    return f


class Box:
    def __init__(self, v):
        self.v = v


class Reduced(Box):
    def __reduce__(self):
        return Reduced, (self.v * 2,)


class State(Box):
    def __getstate__(self):
        return {"v": self.v * 3}

    def __setstate__(self, state):
        self.v = state["v"] + 1


class Registered(Box):
    pass


copyreg.pickle(Registered, lambda r: (Registered, (r.v * 5,)))


# -- copies and pickles


@number
def copied_by_reduce(x):
    return copy.copy(Reduced(x)).v * copy.deepcopy(Reduced(x)).v


@number
def copied_by_state(x):
    return copy.copy(State(x)).v * copy.deepcopy(State(x)).v


@number
def copied_by_the_copy_registry(x):
    return copy.copy(Registered(x)).v


@number
def pickled_object(x):
    return pickle.loads(pickle.dumps(Box(x))).v


@vector
def pickled_array_by_hand(x):
    f, args, state = x.__reduce__()
    a = f(*args)
    a.__setstate__(state)
    return a.sum()


@number
def marshalled(x):
    return marshal.loads(marshal.dumps(x))


@number
def python_pickler(x):
    out = io.BytesIO()
    pickle._Pickler(out).dump([x])
    return pickle._Unpickler(io.BytesIO(out.getvalue())).load()[0]


# -- text and back


@number
def parsed_after_stripping(x):
    return float(f" {x} ".strip())


@number
def parsed_after_joining(x):
    return float("".join([str(x), "e0"]))


@number
def parsed_by_complex(x):
    return complex(str(x)).real


@number
def parsed_after_encoding(x):
    return float(repr(x).encode().decode())


@number
def parsed_by_literal_eval(x):
    return ast.literal_eval(repr(x))


@number
def parsed_by_json(x):
    return json.loads(f"[{x}]")[0]


@number
def found_by_a_pattern(x):
    return float(re.match(r"[\d.]+", str(x)).group())


@number
def parsed_template(x):
    return float(string.Template("$v").substitute(v=x))


@number
def parsed_formatter(x):
    return float(string.Formatter().format("{}", x))


@number
def parsed_digits(x):
    return int(str(x)[0]) + float(str(x)[1:])


@number
def parsed_map(x):
    return sum(map(float, f"{x} {x * 2}".split()))


@number
def parsed_pretty(x):
    return float(pprint.pformat(x))


@number
def parsed_wrapped_text(x):
    return float(textwrap.dedent(f"  {x}"))


@number
def parsed_decimal(x):
    return float(decimal.Decimal(str(x)) * 2)


@number
def parsed_fraction(x):
    return float(fractions.Fraction(str(x)))


@vector
def parsed_array_text(x):
    return np.fromstring(np.array2string(x)[1:-1], sep=" ").sum()


@vector
def array_of_texts(x):
    return np.array([str(v) for v in x]).astype(float).sum()


@vector
def cast_to_text_and_back(x):
    return x.astype(str).astype(float).sum()


@number
def parsed_scientific(x):
    return float(np.format_float_scientific(x))


@vector
def parsed_repr_of_an_array(x):
    return eval(np.array_repr(x), {"array": np.array}).sum()


@number
def parsed_positional(x):
    return float(np.format_float_positional(x))


@number
def written_to_a_stream_and_read(x):
    out = io.StringIO()
    out.write(str(x))
    return float(out.getvalue())


@number
def printed_to_a_stream_and_read(x):
    out = io.StringIO()
    print(x, x * 2, file=out)
    out.seek(0)
    return sum(float(word) for word in out.read().split())


@number
def printed_lines(x):
    out = io.StringIO()
    print(x, file=out)
    print(x * 2, file=out)
    return sum(float(line) for line in out.getvalue().splitlines())


@number
def comma_separated(x):
    out = io.StringIO()
    csv.writer(out).writerow([x, 2.0])
    return float(next(csv.reader([out.getvalue()]))[0])


@number
def through_the_environment(x):
    os.environ["WENGERT_TEST"] = str(x)
    return float(os.environ.pop("WENGERT_TEST"))


@number
def through_a_database(x):
    with sqlite3.connect(":memory:") as db:
        return db.execute("select ? * 2", (x,)).fetchone()[0]


@number
def length_of_the_text(x):
    return len(f"{x:.3f}") * x


# -- bytes and raw memory


@number
def packed_into_a_buffer(x):
    buffer = bytearray(8)
    struct.pack_into("d", buffer, 0, x)
    return struct.unpack_from("d", buffer)[0]


@number
def structure_packer(x):
    packer = struct.Struct("d")
    return packer.unpack(packer.pack(x))[0]


@vector
def bytes_of_an_array(x):
    return np.frombuffer(bytes(x)).sum()


@vector
def bytearray_of_an_array(x):
    return np.frombuffer(bytearray(x)).sum()


@vector
def array_over_a_memoryview(x):
    return np.asarray(memoryview(x)).sum()


@vector
def array_over_a_buffer(x):
    return np.ndarray((3,), buffer=x).sum()


@vector
def cast_memoryview(x):
    return memoryview(x).cast("B").cast("d")[1]


@vector
def written_through_a_memoryview(x):
    y = x * 2
    memoryview(y)[0] = 5.0
    return y.sum()


@vector
def buffer_read_from(x):
    return np.frombuffer(x).sum()


@vector
def in_base64(x):
    return np.frombuffer(base64.b64decode(base64.b64encode(x.tobytes()))).sum()


@vector
def ctypes_array(x):
    return sum((ctypes.c_double * 3)(*x))


@vector
def ctypes_pointer(x):
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[1]


@vector
def ctypes_array_of_numpy(x):
    return np.ctypeslib.as_array(np.ctypeslib.as_ctypes(x)).sum()


@vector
def moved_memory(x):
    y = np.zeros(3)
    ctypes.memmove(y.ctypes.data, x.ctypes.data, 24)
    return y.sum()


@vector
def array_of_arrays_module(x):
    return sum(array.array("d", x))


@number
def array_appended(x):
    a = array.array("d")
    a.append(x)
    a.extend([x * 2])
    return a[0] * a[1]


@vector
def saved_and_loaded(x):
    out = io.BytesIO()
    np.save(out, x)
    out.seek(0)
    return np.load(out).sum()


@vector
def text_saved_and_loaded(x):
    out = io.StringIO()
    np.savetxt(out, x)
    out.seek(0)
    return np.loadtxt(out).sum()


@vector
def structured_array(x):
    a = np.zeros(3, [("u", float), ("v", int)])
    a["u"] = x
    return a["u"].sum()


@vector
def record_array(x):
    return np.rec.fromarrays([x, x * 2], names="a,b").b.sum()


@vector
def masked_array(x):
    return np.ma.masked_greater(x, 1.0).sum()


@vector
def matrix(x):
    return (np.matrix(x) * np.matrix(x).T)[0, 0]


@vector
def polynomial(x):
    return np.poly1d(x)(2.0) + np.polynomial.Polynomial(x)(0.5)


@vector
def strided_view(x):
    return np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)).sum()


@vector
def bits(x):
    return (x.view(np.int64) & ~1).view(float).sum()


@vector
def n_d_iterator_writing(x):
    y = np.zeros(3)
    with np.nditer([x, y], op_flags=[["readonly"], ["writeonly"]]) as it:
        for a, b in it:
            b[...] = a * 2
    return y.sum()


@vector
def applied_along_an_axis(x):
    return np.apply_along_axis(lambda v: v * v, 0, x).sum()


@vector
def from_a_function(x):
    return np.fromfunction(lambda i: x[i] * 2, (3,), dtype=int).sum()


@vector
def piecewise(x):
    return np.piecewise(x, [x < 1, x >= 1], [lambda v: v * v, 3.0]).sum()


@vector
def evaluated_by_einsum_path(x):
    return np.einsum("i,i,i->", x, x, x, optimize=True)


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
    return np.random.default_rng(2).weibull(x) + np.random.default_rng(2).standard_t(x)


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
    return types.FunctionType((lambda v: (lambda: v * 2))(0).__code__, globals(), "f", None, (cell,))()


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
    return scipy.integrate.solve_ivp(lambda t, y: -x * y, (0.0, 0.5), [1.0], method="Radau", rtol=1e-9, atol=1e-9).y[0, -1]


@number
def solved_by_backward_differences(x):
    return scipy.integrate.solve_ivp(lambda t, y: -x * y, (0.0, 0.5), [1.0], method="BDF", rtol=1e-9, atol=1e-9).y[0, -1]


@number
def solved_by_fortran(x):
    return scipy.integrate.solve_ivp(lambda t, y: -x * y, (0.0, 0.5), [1.0], method="LSODA").y[0, -1]


@number
def integrated_by_fortran(x):
    return scipy.integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 0.5])[-1, 0] + scipy.integrate.quad(lambda t: x * t, 0, 1)[0]


@number
def root_found_in_c(x):
    return scipy.optimize.brentq(lambda t: t * t - x, 0.0, 3.0)


@number
def minimum_found(x):
    return scipy.optimize.minimize_scalar(lambda t: (t - x) ** 2).x


@vector
def interpolated(x):
    return scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], x)(0.7)
