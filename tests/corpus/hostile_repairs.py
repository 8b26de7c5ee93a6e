"""Programs in classes of defects that were repaired, each reached in another way than in the repair's own tests.

Targets of `out=` of every shape, Python functions behind callables of C, containers that a function with a rule fills,
objects from outside whose methods C calls, and singular points behind masks.
"""

# ruff: noqa (each is as short as it can be written)

from __future__ import annotations

import array
import bisect
import collections
import contextlib
import contextvars
import copy
import ctypes
import dataclasses
import functools
import heapq
import io
import itertools
import json
import math
import operator
import pickle
import re
import sqlite3
import string
import types
import weakref
from xml.parsers import expat

import numpy as np
from hostile_table import Hostiles

import wengert as wg

hostile = Hostiles()

V = np.array([0.7, -1.2, 2.0])
P = np.array([0.7, 1.2, 2.0])
M = np.array([[0.5, 1.5, -0.3], [0.2, 0.9, 1.1]])

# -- targets of `out=`


@hostile(P)
def out_one_axis_more():
    def f(x):
        o = np.zeros((4, 1, 3))
        np.log(x, out=o)
        return np.sum(o * np.arange(12.0).reshape(4, 1, 3))

    return f


@hostile(P)
def out_of_a_pair_of_results():
    def f(x):
        whole, part = np.zeros((3, 3)), np.zeros((3, 3))
        np.modf(x * 1.4, out=(part, whole))
        return np.sum(part * np.arange(9.0).reshape(3, 3)) + np.sum(whole)

    return f


@hostile(P)
def out_of_divmod_one_target_larger():
    def f(x):
        rest = np.zeros((2, 3))
        quotient, _ = np.divmod(x, 0.33, None, rest)
        return np.sum(rest * M) + np.sum(quotient)

    return f


@hostile(P)
def out_of_the_first_of_two_results():
    def f(x):
        part = np.zeros((2, 3))
        _, whole = np.modf(x * 1.4, part)
        return np.sum(part * M) + np.sum(whole)

    return f


@hostile(P)
def out_larger_under_a_mask():
    def f(x):
        o = np.outer([1.0, 2.0], x)
        np.exp(x, out=o, where=np.array([[True, False, True], [False, True, True]]))
        return np.sum(o * M)

    return f


@hostile(P)
def out_larger_and_read_by_itself():
    def f(x):
        o = np.outer([1.0, 2.0], x)
        np.multiply(o[0], x, out=o)
        return np.sum(o * M)

    return f


@hostile(P)
def out_larger_in_a_loop():
    def f(x):
        o = np.ones((2, 3))
        for k in range(4):
            np.multiply(x, 0.5 * o[k % 2], out=o)
            o[k % 2] += x
        return np.sum(o * M)

    return f


@hostile(P)
def out_is_a_transposed_view():
    def f(x):
        o = np.zeros((3, 2))
        np.square(x, out=o.T)
        return np.sum(o * M.T)

    return f


@hostile(P)
def out_is_a_slice_with_steps():
    def f(x):
        o = np.zeros((4, 6))
        np.sqrt(x, out=o[::2, ::2])
        return np.sum(o * np.arange(24.0).reshape(4, 6))

    return f


@hostile(P)
def out_by_a_partial():
    def f(x):
        o = np.zeros((2, 3))
        functools.partial(np.cosh, out=o)(x)
        return np.sum(o * M)

    return f


@hostile(P)
def out_of_a_scalar_into_rows():
    def f(x):
        o = np.zeros((2, 3))
        np.exp(x[1], out=o)
        o[0, 0] = x[2]
        return np.sum(o * M)

    return f


@hostile(P)
def out_of_a_python_float():
    def f(x):
        o = np.zeros(4)
        np.sin(float(x[0]) * 1.5, out=o)
        return np.sum(o * o)

    return f


@hostile(P)
def out_of_a_reduction_into_zero_dimensions():
    def f(x):
        o = np.zeros(())
        np.add.reduce(x * x, out=o)
        return o * x[0]

    return f


@hostile(M)
def out_of_a_reduction_of_rows():
    def f(x):
        o = np.zeros(3)
        np.sum(x * x, axis=0, out=o)
        o2 = np.zeros((1, 3))
        np.prod(x, axis=0, keepdims=True, out=o2)
        return np.sum(o * o2)

    return f


@hostile(P)
def out_of_an_accumulation():
    def f(x):
        o = np.zeros(3)
        np.multiply.accumulate(x, out=o)
        np.cumsum(o * x, out=o)
        return np.sum(o * V)

    return f


@hostile(P)
def out_of_einsum_and_dot():
    def f(x):
        o = np.zeros((3, 3))
        np.einsum("i,j->ij", x, x * x, out=o)
        p = np.zeros(3)
        np.dot(o, x, out=p)
        return np.sum(p * V)

    return f


@hostile(M)
def out_of_matmul_with_more_axes():
    def f(x):
        o = np.zeros((2, 2, 2))
        np.matmul(x, x.T, out=o)
        return np.sum(o * np.arange(8.0).reshape(2, 2, 2))

    return f


@hostile(P)
def out_of_matmul_of_vectors():
    def f(x):
        o = np.zeros(2)
        np.matmul(x, x * x, out=o)
        return o[0] * o[1]

    return f


@hostile(P)
def out_of_vecdot():
    def f(x):
        o = np.zeros((2, 2))
        np.vecdot(np.stack([x, x * x]), x, out=o)
        return np.sum(o * np.arange(4.0).reshape(2, 2))

    return f


@hostile(P)
def out_of_outer_method():
    def f(x):
        o = np.zeros((2, 3, 3))
        np.multiply.outer(x, x * x, out=o)
        return np.sum(o[0]) + 2 * np.sum(o[1])

    return f


@hostile(P)
def out_clip_method():
    def f(x):
        o = np.zeros((2, 3))
        (x * 2).clip(1.5, 3.0, out=o)
        return np.sum(o * M)

    return f


@hostile(P)
def out_of_single_precision():
    def f(x):
        o = np.zeros((2, 3), np.float64)
        np.add(x, np.float32(0.5), out=o, casting="unsafe")
        return np.sum(o * o * M)

    return f


@hostile(P)
def out_in_place_of_an_argument_that_is_larger():
    def f(x):
        rows = np.stack([x, 2 * x])
        np.add(rows, x, rows)
        rows *= x
        return np.sum(rows * M)

    return f


@hostile(P)
def out_into_an_attribute():
    class Box:
        def __init__(self):
            self.a = np.zeros((2, 3))

    def f(x):
        box = Box()
        np.tanh(x, box.a)
        return np.sum(box.a * M)

    return f


@hostile(P)
def out_choose_take_compress():
    def f(x):
        o = np.zeros(3)
        np.take(x, [2, 0, 0], out=o)
        p = np.zeros(2)
        np.compress([True, False, True], o * x, out=p)
        return p[0] * 3 + p[1]

    return f


# -- Python functions behind callables of C


class Phi:
    """One that keeps a traced value, whose methods are reached in odd ways."""

    def __init__(self, t):
        self.t = t

    def phi(self):
        return self.t * self.t

    def of(self, k):
        return self.t * k

    def __call__(self, *_):
        return self.t**3

    cached = functools.cached_property(lambda self: self.t * 5.0)
    part = functools.partialmethod(of, 3.0)

    @functools.lru_cache(maxsize=None)
    def kept(self):
        return self.t * 7.0

    @functools.singledispatchmethod
    def sent(self, k):
        return self.t

    @sent.register
    def _(self, k: int):
        return self.t * k


@hostile(1.3)
def cached_property_of_an_object():
    return lambda t: Phi(t).cached + t


@hostile(1.3)
def partial_method():
    return lambda t: Phi(t).part() + t


@hostile(1.3)
def cached_method():
    return lambda t: Phi(t).kept() + t


@hostile(1.3)
def dispatched_method():
    return lambda t: Phi(t).sent(4) + Phi(t).sent(0.5)


@hostile(1.3)
def method_caller():
    return lambda t: operator.methodcaller("phi")(Phi(t)) + operator.methodcaller("of", 2.0)(Phi(t))


@hostile(1.3)
def attribute_getter_of_a_property():
    class A:
        def __init__(self, t):
            self.t = t

        @property
        def p(self):
            return self.t * 2.5

    return lambda t: operator.attrgetter("p")(A(t)) + t


@hostile(1.3)
def context_run():
    return lambda t: contextvars.copy_context().run(Phi(t).phi) + t


@hostile(1.3)
def foreign_function_of_python():
    def f(t):
        kept = [t]
        back = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda k: k * kept[0])
        return back(2.0) + t

    return f


@hostile(1.3)
def foreign_function_of_a_method():
    def f(t):
        back = ctypes.PYFUNCTYPE(ctypes.py_object)(Phi(t).phi)
        return back() + t

    return f


@hostile(1.3)
def function_within_a_database():
    def f(t):
        with contextlib.closing(sqlite3.connect(":memory:")) as base:
            base.create_function("phi", 0, Phi(t).phi)
            return base.execute("select phi()").fetchone()[0] + t

    return f


@hostile(1.3)
def handler_of_a_parser():
    def f(t):
        seen = []
        parser = expat.ParserCreate()
        parser.StartElementHandler = lambda name, attributes: seen.append(t * float(attributes["k"]))
        parser.Parse("<a k='2.5'/>", True)
        return seen[0] + t

    return f


@hostile(1.3)
def default_of_json():
    def f(t):
        seen = []

        def default(o):
            seen.append(o.phi())
            return 1

        json.dumps([Phi(t)], default=default)
        return seen[0] + t

    return f


@hostile(1.3)
def callback_of_a_substitution():
    def f(t):
        seen = []
        re.sub("a", lambda m: seen.append(t * 2.0) or "b", "cat")
        return seen[0] * t

    return f


@hostile(1.3)
def template_of_a_mapping():
    class Lookup(dict):
        def __missing__(self, key):
            self.seen = self.t * 3.0
            return "x"

    def f(t):
        lookup = Lookup()
        lookup.t = t
        string.Template("$a").substitute(lookup)
        return lookup.seen + t

    return f


@hostile(1.3)
def weak_method():
    def f(t):
        box = Phi(t)
        return weakref.WeakMethod(box.phi)()() + t

    return f


@hostile(1.3)
def weak_proxy():
    def f(t):
        box = Phi(t)
        return weakref.proxy(box).phi() + weakref.proxy(box)() + t

    return f


@hostile(1.3)
def static_method_called_itself():
    return lambda t: staticmethod(Phi(t).phi)() + t


@hostile(1.3)
def class_method_by_its_descriptor():
    class A:
        @classmethod
        def of(cls, t):
            return cls.k * t

    def f(t):
        A.k = t
        try:
            return A.__dict__["of"].__get__(None, A)(t) + t
        finally:
            del A.k

    return f


@hostile(1.3)
def iterator_of_a_callable():
    def f(t):
        box = [0.0]

        def step():
            box[0] += t
            return box[0] > 4.0

        for _ in iter(step, True):
            pass
        return box[0] * t

    return f


@hostile(1.3)
def star_map_of_methods():
    return lambda t: sum(itertools.starmap(Phi(t).of, [(1.0,), (2.5,)]))


@hostile(1.3)
def accumulate_with_a_method():
    class A:
        def __init__(self, t):
            self.t = t

        def add(self, a, b):
            return a + b * self.t

    return lambda t: list(itertools.accumulate([1.0, 2.0, 3.0], A(t).add))[-1]


@hostile(1.3)
def reduce_with_an_object():
    class A:
        def __init__(self, t):
            self.t = t

        def __call__(self, a, b):
            return a * self.t + b

    return lambda t: functools.reduce(A(t), [1.0, 2.0, 3.0], 0.5)


@hostile(1.3)
def keys_that_keep():
    def f(t):
        seen = []
        sorted([3, 1, 2], key=lambda k: seen.append(t * k) or k)
        heapq.nsmallest(2, [5, 4], key=lambda k: seen.append(t * k) or k)
        bisect.bisect([1, 2, 3], 2, key=lambda k: seen.append(t) or k)
        return sum(seen)

    return f


@hostile(1.3)
def comparison_to_key():
    def f(t):
        seen = []

        def compare(a, b):
            seen.append(t * a * b)
            return a - b

        sorted([2, 1], key=functools.cmp_to_key(compare))
        return sum(seen)

    return f


@hostile(1.3)
def single_dispatch_by_an_object():
    @functools.singledispatch
    def g(a):
        return 0.0

    @g.register
    def _(a: Phi):
        return a.phi()

    return lambda t: g(Phi(t)) + t


@hostile(1.3)
def exit_stack_callbacks():
    def f(t):
        seen = []
        with contextlib.ExitStack() as stack:
            stack.callback(lambda k: seen.append(k * t), 3.0)
            stack.push(lambda *_: seen.append(t))
        return sum(seen)

    return f


@hostile(1.3)
def generic_alias_call():
    class Box(list):
        pass

    return lambda t: types.GenericAlias(Box, (int,))([t, t])[0] * t


@hostile(1.3)
def operator_call():
    return lambda t: operator.call(Phi(t).of, 2.0) * t if hasattr(operator, "call") else t


@hostile(1.3)
def vectorized_method():
    return lambda t: np.sum(np.vectorize(Phi(t).of)(np.array([1.0, 2.0])))


@hostile(1.3)
def ufunc_of_a_method():
    return lambda t: np.frompyfunc(Phi(t).of, 1, 1)(np.array([1.0, 2.5]))[1] * t


@hostile(1.3)
def apply_along_axis_of_a_method():
    class A:
        def __init__(self, t):
            self.t = t

        def of(self, row):
            return np.sum(row) * self.t

    return lambda t: np.sum(np.apply_along_axis(A(t).of, 1, M))


@hostile(1.3)
def pieces_by_functions():
    return lambda t: np.sum(
        np.piecewise(np.array([-1.0, 2.0]), [[True, False]], [lambda a: a * t, lambda a: a * t * t])
    )


@hostile(1.3)
def array_from_function():
    return lambda t: (
        np.sum(np.fromfunction(lambda i, j: (i + j) * t, (2, 3))) + np.fromiter((t * k for k in range(3)), float)[2]
    )


@hostile(1.3)
def reduce_of_a_pickle():
    class A:
        def __init__(self, t):
            self.t = t

        def __reduce__(self):
            return (float, (2.0,))

        def __deepcopy__(self, memo):
            return A(self.t * 2.0)

        def __copy__(self):
            return A(self.t * 3.0)

    return lambda t: copy.deepcopy(A(t)).t + copy.copy(A(t)).t


@hostile(1.3)
def finalizer():
    def f(t):
        seen = []
        box = Phi(t)
        done = weakref.finalize(box, lambda k: seen.append(k * t), 2.0)
        done()
        return seen[0] * t

    return f


@hostile(1.3)
def raw_stream():
    def f(t):
        seen = []

        class Raw(io.RawIOBase):
            def readable(self):
                return True

            def readinto(self, buffer):
                seen.append(t * 2.0)
                return 0

        io.BufferedReader(Raw()).read()
        return sum(seen) * t

    return f


# -- containers that a function with a rule fills


def _rule_of(fill):
    """A function with a rule that fills the container which it is given."""

    def ap(c, v):
        fill(c, v * 2.0)
        return v

    @wg.rrule(ap)
    def rule(c, v):
        ap(c, v)
        return v, lambda bar: (None, bar)

    return ap


@hostile(1.3)
def rule_fills_a_dict():
    ap = _rule_of(lambda c, v: c.update(k=v))

    def f(x):
        d = {}
        return ap(d, x) + d["k"]

    return f


@hostile(1.3)
def rule_fills_a_deque():
    ap = _rule_of(lambda c, v: c.appendleft(v))

    def f(x):
        d = collections.deque()
        return ap(d, x) + d[0]

    return f


@hostile(1.3)
def rule_fills_an_object():
    ap = _rule_of(lambda c, v: setattr(c, "k", v))

    def f(x):
        d = types.SimpleNamespace()
        return ap(d, x) + d.k

    return f


@hostile(1.3)
def rule_fills_a_nested_list():
    ap = _rule_of(lambda c, v: c[0]["a"].append(v))

    def f(x):
        d = [{"a": []}]
        return ap(d, x) + d[0]["a"][0]

    return f


@hostile(1.3)
def rule_fills_a_list_with_arrays():
    ap = _rule_of(lambda c, v: c.append(np.full(2, v)))

    def f(x):
        d = []
        return ap(d, x) + d[0][1]

    return f


@hostile(1.3)
def rule_fills_an_array():
    ap = _rule_of(lambda c, v: c.__setitem__(0, v))

    def f(x):
        d = np.zeros(2)
        return ap(d, x) + d[0]

    return f


@hostile(1.3)
def rule_fills_an_array_in_a_list():
    ap = _rule_of(lambda c, v: c[0].__setitem__(0, v))

    def f(x):
        d = [np.zeros(2)]
        return ap(d, x) + d[0][0]

    return f


@hostile(1.3)
def rule_fills_a_set_and_a_cell():
    ap = _rule_of(lambda c, v: c.add(v))

    def f(x):
        d = set()
        return ap(d, x) + sum(d)

    return f


@hostile(1.3)
def rule_keeps_its_argument_itself():
    def ap(c, v):
        c.append(v)
        return v * 2.0

    @wg.rrule(ap)
    def rule(c, v):
        return ap(c, v), lambda bar: (None, 2.0 * bar)

    def f(x):
        d = []
        return ap(d, x) + d[0]

    return f


@hostile(1.3)
def rule_fills_in_a_loop():
    ap = _rule_of(lambda c, v: c.append(v))

    def f(x):
        d = []
        total = 0.0
        for k in range(3):
            total += ap(d, x * k)
        return total + sum(d)

    return f


@hostile(1.3)
def rule_exchanges_an_item():
    ap = _rule_of(lambda c, v: c.__setitem__(0, c[0] * v))

    def f(x):
        d = [x * x]
        return ap(d, x) + d[0]

    return f


@hostile(1.3)
def rule_fills_a_data_class():
    @dataclasses.dataclass
    class Out:
        a: float = 0.0
        rows: list = dataclasses.field(default_factory=list)

    def ap(c, v):
        c.a = v * 2.0
        c.rows += [v * 3.0]
        return v

    @wg.rrule(ap)
    def rule(c, v):
        ap(c, v)
        return v, lambda bar: (None, bar)

    def f(x):
        out = Out()
        return ap(out, x) + out.a * out.rows[0]

    return f


# -- code that C calls on objects from outside


G = types.SimpleNamespace(value=0.0)


class Truth:
    def __bool__(self):
        G.seen = G.value * 2.0
        return True


class Index:
    def __index__(self):
        G.seen = G.value * 2.0
        return 1


class Hash:
    def __hash__(self):
        G.seen = G.value * 2.0
        return 1

    def __eq__(self, other):
        G.seen = G.value * 3.0
        return True


class Float:
    def __float__(self):
        return G.value * 2.0


class Less:
    def __lt__(self, other):
        G.seen = G.value * 2.0
        return False


TRUTH, INDEX, HASH, HASH2, FLOAT, LESS, LESS2 = Truth(), Index(), Hash(), Hash(), Float(), Less(), Less()


def _seen(use):
    def f(x):
        G.value, G.seen = x, 0.0
        try:
            use()
            return G.seen + x
        finally:
            G.value = G.seen = 0.0

    return f


@hostile(1.3)
def any_of_outside_objects():
    return _seen(lambda: any([TRUTH]))


@hostile(1.3)
def all_of_outside_objects():
    return _seen(lambda: all((TRUTH, TRUTH)))


@hostile(1.3)
def filter_of_outside_objects():
    return _seen(lambda: list(filter(None, [TRUTH])))


@hostile(1.3)
def range_to_an_outside_index():
    return _seen(lambda: list(range(INDEX)))


@hostile(1.3)
def item_at_an_outside_index():
    return _seen(lambda: operator.getitem([1, 2], INDEX))


@hostile(1.3)
def packed_outside_index():
    return _seen(lambda: array.array("i", [1, 2]).__getitem__(INDEX))


@hostile(1.3)
def dictionary_of_outside_keys():
    return _seen(lambda: {HASH: 1}.get(HASH2))


@hostile(1.3)
def set_of_outside_keys():
    return _seen(lambda: frozenset([HASH]) | {HASH2})


@hostile(1.3)
def membership_of_outside_objects():
    return _seen(lambda: [HASH].count(HASH2))


@hostile(1.3)
def sorted_outside_objects():
    return _seen(lambda: sorted([LESS, LESS2]))


@hostile(1.3)
def minimum_of_outside_objects():
    return _seen(lambda: min(LESS, LESS2))


@hostile(1.3)
def sine_of_an_outside_object():
    def f(x):
        G.value = x
        try:
            return math.sin(FLOAT) + x
        finally:
            G.value = 0.0

    return f


@hostile(1.3)
def float_of_an_outside_object():
    def f(x):
        G.value = x
        try:
            return float(FLOAT) * x + math.fsum([FLOAT, FLOAT])
        finally:
            G.value = 0.0

    return f


@hostile(1.3)
def array_of_an_outside_object():
    def f(x):
        G.value = x
        try:
            return np.array([FLOAT, FLOAT], float)[0] * x
        finally:
            G.value = 0.0

    return f


@hostile(1.3, expected=5.0)
def map_made_before():
    def f(x):
        G.value = x
        try:
            return next(f.made) + x
        finally:
            G.value = 0.0

    f.made = map(lambda k: G.value * k, itertools.repeat(4.0))
    return f


@hostile(1.3, expected=5.0)
def filter_made_before():
    def f(x):
        G.value, G.seen = x, 0.0
        try:
            next(f.made)
            return G.seen + x
        finally:
            G.value = G.seen = 0.0

    def keep(k):
        G.seen = G.value * k
        return True

    f.made = filter(keep, itertools.repeat(4.0))
    return f


@hostile(1.3, expected=5.0)
def closure_cell_of_an_outside_key():
    cell = [0.0]
    seen = []

    class Key:
        def __hash__(self):
            seen.append(cell[0] * 4.0)
            return 3

    key = Key()

    def f(x):
        cell[0] = x
        seen.clear()
        hash(key)
        return seen[-1] + x

    return f


@hostile(1.3, expected=5.0)
def method_of_an_outside_object_by_map():
    class Held:
        def times(self, k):
            return self.t * k

    held = Held()

    def f(x):
        held.t = x
        return sum(map(held.times, [4.0])) + x

    return f


@hostile(1.3, expected=5.0)
def attribute_hook_that_c_calls():
    class Held:
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return G.value * 4.0

    held = Held()

    def f(x):
        G.value = x
        try:
            return operator.attrgetter("anything")(held) + x
        finally:
            G.value = 0.0

    return f


@hostile(1.3, expected=5.0)
def length_hint_of_an_outside_object():
    class Held:
        def __length_hint__(self):
            G.seen = G.value * 4.0
            return 0

        def __iter__(self):
            return iter(())

    held = Held()

    def f(x):
        G.value = x
        try:
            list(held)
            return G.seen + x
        finally:
            G.value = G.seen = 0.0

    return f


@hostile(1.3, expected=5.0)
def descriptor_that_c_reads():
    class D:
        def __get__(self, o, t):
            return G.value * 4.0

    class Held:
        d = D()

    held = Held()

    def f(x):
        G.value = x
        try:
            return getattr(held, "d") + x
        finally:
            G.value = 0.0

    return f


@hostile(1.3, expected=5.0)
def format_of_an_outside_object():
    class Held:
        def __format__(self, spec):
            G.seen = G.value * 4.0
            return "a"

    held = Held()

    def f(x):
        G.value = x
        try:
            "{:>3}".format(held)
            return G.seen + x
        finally:
            G.value = G.seen = 0.0

    return f


# -- singular points behind masks

Z = np.array([0.0, 1.0, 4.0])
O = np.array([0.0, 0.5, -0.5])


@hostile(Z, expected=np.array([0.0, 0.5, 0.25]))
def where_around_a_root():
    return lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)), 0.0))


@hostile(Z, expected=np.array([0.0, -1.0, -1 / 16]))
def where_around_a_division():
    def f(x):
        with np.errstate(all="ignore"):
            return np.sum(np.where(x != 0, 1.0 / x, 7.0))

    return f


@hostile(Z, expected=np.array([0.0, 1.0, 0.25]))
def logarithm_that_a_mask_takes_away():
    def f(x):
        with np.errstate(all="ignore"):
            y = np.log(x)
        return np.sum(y[np.isfinite(y)])

    return f


@hostile(Z, expected=np.array([0.0, 1.5, 3.0]))
def power_that_is_stored_over():
    def f(x):
        y = x**1.5
        z = np.sqrt(x)
        z[0] = 0.0
        return np.sum(y) + 0.0 * np.sum(z)

    return f


@hostile(Z, expected=np.array([0.0, 0.5, 0.25]))
def root_of_which_parts_are_read():
    return lambda x: np.sqrt(x)[1] + np.sqrt(x)[2]


@hostile(Z, expected=np.array([0.0, 0.5, 0.25]))
def root_in_a_choice():
    return lambda x: np.sum(np.select([x > 0, x <= 0], [np.sqrt(x), np.zeros(3)]))


@hostile(Z, expected=np.array([0.0, 0.5, 0.25]))
def root_copied_where():
    def f(x):
        o = np.zeros(3)
        np.copyto(o, np.sqrt(x), where=x > 0)
        return np.sum(o)

    return f


@hostile(Z, expected=np.array([0.0, 0.5, 0.25]))
def root_under_where():
    return lambda x: np.sum(np.sqrt(x), where=x > 0)


@hostile(np.array([[0.0, 8.0], [1.0, 0.0]]), expected=np.array([[0.0, 1 / 12], [1 / 3, 0.0]]))
def cube_root_off_the_diagonal():
    def f(a):
        r = np.cbrt(a)
        np.fill_diagonal(r, 0.0)
        return np.sum(r)

    return f


@hostile(np.array([[0.0, 8.0], [1.0, 0.0]]), expected=np.array([[0.0, 1 / 12], [1 / 3, 0.0]]))
def cube_root_triangles():
    return lambda a: np.sum(np.triu(np.cbrt(a), 1)) + np.sum(np.tril(np.cbrt(a), -1))


@hostile(np.zeros(3), expected=np.zeros(3))
def norm_that_nobody_reads():
    def f(x):
        r = np.sqrt(np.sum(x * x))
        return np.sum(x * x) + (r if r > 1 else 0.0)

    return f


@hostile(0.0, expected=1.0)
def float_root_of_which_nothing_is_read():
    def f(x):
        parts = [math.sqrt(x), x]
        return parts[1] * 1.0

    return f


@hostile(np.array([1.0, 0.5]), expected=np.array([0.0, 2 / math.sqrt(0.75) * math.asin(0.5)]))
def arcs_at_the_end():
    def f(x):
        a = np.arcsin(x)
        return np.sum((a * a)[1:])

    return f


@hostile(Z, expected=np.array([0.0, 1.0, 1.0]))
def infinite_in_a_product():
    def f(x):
        with np.errstate(all="ignore"):
            y = np.log(x)
        y = np.where(np.isinf(y), 0.0, y)
        return np.sum(np.exp(y)[1:])

    return f


@hostile(np.array([0.0, 2.0]), expected=np.array([0.0, 0.5 / math.sqrt(2.0)]))
def root_by_a_maximum():
    return lambda x: np.max(np.sqrt(x))


@hostile(np.array([[1.0, 2.0], [0.0, 0.0]]), expected=np.array([[1 / math.sqrt(5.0), 2 / math.sqrt(5.0)], [0.0, 0.0]]))
def root_of_rows():
    def f(a):
        r = np.sqrt(np.sum(a * a, axis=1))
        return np.sum(np.where(r > 0, r, 0.0))

    return f


@hostile(Z, expected=np.array([0.0, 0.25, 0.25 * 4.0**-0.75]))
def roots_of_roots():
    return lambda x: np.sum(np.where(x > 0, np.sqrt(np.sqrt(x)), 1.0))


@hostile(Z, expected=np.array([1.0, 1.0, 1.0]))
def unused_branch_of_minimum():
    def f(x):
        with np.errstate(all="ignore"):
            return np.sum(np.fmin(x, np.where(x > -1, np.inf, 1.0 / x)))

    return f


@hostile(np.array([0.0, 1.0, 4.0]), expected=np.array([0.0, -0.25, -1 / 32]))
def second_derivative_behind_a_mask():
    def f(x):
        inner = wg.grad(lambda z: np.sum(np.where(z > 0, np.sqrt(z), 0.0)))
        return np.sum(inner(x))

    return f


@hostile(np.array([0.0, 2.0]), expected=np.array([0.0, 4.0]))
def tangent_behind_a_mask():
    def f(x):
        def g(z):
            return np.sum(np.where(z > 0, z**2, np.sqrt(np.abs(z))))

        return wg.jvp(g, (x,), (np.array([0.0, 2.0]),))[1]

    return f


@hostile(np.array([0.0, 2.0]), expected=np.array([0.0, 1 / (2 * math.sqrt(2.0))]))
def checkpoint_behind_a_mask():
    root = wg.checkpoint(lambda x: np.sqrt(x))
    return lambda x: np.sum(np.where(x > 0, root(x), 0.0))


@hostile(np.array([0.0, 2.0]), expected=np.array([0.0, 1 / (2 * math.sqrt(2.0))]))
def batch_behind_a_mask():
    return lambda x: np.sum(np.where(x > 0, wg.vmap(lambda z: np.sqrt(z))(x), 0.0))


@hostile(np.array([0.0, 4.0]), expected=np.array([np.inf, 0.25]))
def truly_infinite():
    return lambda x: np.sum(np.sqrt(x))


@hostile(0.0, expected=0.0)
def float_behind_a_factor_of_zero():
    return lambda x: 0.0 * math.pow(x, 1.5) + x * x


@hostile(np.array([0.0, 0.0]), expected=np.array([0.0, 0.0]))
def angle_behind_a_mask():
    return lambda x: np.sum(np.where(np.hypot(x[0], x[1]) > 0, np.arctan2(x[1], x[0]), 0.0))


@hostile(np.array([0.0, 1.0 + 1j]), expected=None)
def complex_root_of_a_part():
    return lambda z: np.sum(np.abs(np.sqrt(z)[1:]) ** 2)


@hostile(P)
def copied_with_a_mask_and_an_axis():
    def f(x):
        y = np.zeros((1, 3))
        np.copyto(y, x[None], where=np.array([True, False, True]))
        np.copyto(y[0], x[::-1], where=[False, True, False])
        return np.sum(y * V)

    return f


@hostile(P)
def put_nothing():
    def f(x):
        y = x * 2.0
        np.put(y, [], [])
        np.put(y, [0, 1], [])
        np.put(y, [0, 5], [x[1], 9.0], mode="wrap")
        return np.sum(y * V)

    return f


@hostile(np.array([0.5, 1.25, 2.0]))  # exact in each order of adding
def sums_that_begin_with_a_value():
    return lambda x: np.sum(x[1:], initial=x[0] * 2) * np.prod(x, initial=x[0]) + np.max(x, initial=x[2] * 3)


@hostile(P)
def products_that_begin_where():
    return lambda x: np.prod(x, where=[True, False, True], initial=x[1] ** 2) + np.add.reduce(x, initial=x[0])


@hostile(P)
def minimum_that_begins_below():
    return lambda x: np.min(x, initial=x[0] * 0.1) + np.minimum.reduce(x, initial=x[1])


@hostile(P)
def items_set_by_name():
    def f(x):
        y = np.zeros(3)
        operator.setitem(y, 0, x[1])
        for set_item in [operator.setitem, np.ndarray.__setitem__, type(y).__setitem__]:
            set_item(y, 1, y[0] * x[2])
        y.__setitem__(2, x[0])
        l = [0.0]
        operator.setitem(l, 0, y[1])
        l.__setitem__(0, l[0] * 2)
        return np.sum(y * V) + l[0]

    return f


@hostile(P)
def in_place_by_name():
    def f(x):
        y = x.copy()
        y = operator.iadd(y, x)
        operator.imul(y[1:], 3.0)
        functools.reduce(operator.isub, [y, x, x])
        return np.sum(y * V)

    return f


@hostile(P)
def trace_of_a_matrix():
    return lambda x: np.asmatrix(np.outer(x, x)).trace()[0, 0]


@hostile(P)
def elements_of_object_arrays():
    def f(x):
        o = np.empty(2, object)
        o[0] = x[0]
        o[1] = np.array(x[1])
        return o[0] * o[1] + (o[0] + o[1])

    return f


@hostile(M)
def unique_rows():
    return lambda x: np.sum(np.unique(np.vstack([x, x[:1]]), axis=0) * M)


@hostile(P)
def rounding_by_a_string():
    return lambda x: int(f"{x[2]:.0f}") * x[0] + x[1] * len(f"{x[0]:.3f}")


@hostile(P)
def default_dictionary_of_a_function():
    def f(x):
        d = collections.defaultdict(lambda: x[0])
        return d["a"] * d["b"] + d.get("c", x[1])

    return f


@hostile(P)
def names_in_a_user_dictionary():
    def f(x):
        d = collections.UserDict.fromkeys("ab", x[0])
        d["b"] = x[1]
        return d["a"] * d["b"]

    return f


@hostile(P)
def proxies_of_mappings():
    class D(dict):
        def __getitem__(self, k):
            return super().__getitem__(k) * 2.0

    return lambda x: types.MappingProxyType(D(a=x[0]))["a"] * collections.ChainMap({}, {"b": x[1]})["b"]


@hostile(P)
def wrong_arguments_are_caught():
    def f(x):
        total = 0.0
        for call in (lambda: [].count(), lambda: {}.get(), lambda: math.sin(), lambda: sorted(), lambda: "".join(1, 2)):
            try:
                call()
            except TypeError as error:
                total += len(str(error)) * x[0]
        return total

    return f


@hostile(P)
def object_array_functions():
    def f(x):
        g = np.frompyfunc(lambda a, b: a * b * x[0], 2, 1)
        return g.reduce(np.array([1.0, 2.0, 3.0], object)) + np.sum(g(np.array([1.0, 2.0], object), x[1]))

    return f


@hostile(1.3)
def own_rule_of_a_c_callable():
    sine = functools.partial(math.sin)

    @wg.rrule(sine)
    def rule(x):
        return sine(x), lambda bar: bar * math.cos(x)

    return lambda x: wg.grad(sine)(x) * sine(x)


@hostile(1.3)
def own_rule_of_a_foreign_function():
    library = ctypes.CDLL(None)
    root = library.cbrt
    root.restype, root.argtypes = ctypes.c_double, [ctypes.c_double]

    @wg.rrule(root)
    def rule(x):
        y = root(x)
        return y, lambda bar: bar / (3.0 * y * y)

    return lambda x: wg.grad(root)(x) * root(x)


@hostile(P)
def windows_that_are_unrolled():
    def f(x):
        w = np.lib.stride_tricks.sliding_window_view(x, 2)
        b = np.broadcast_to(x, (2, 3))
        return np.sum(w.ravel() * np.arange(4.0)) + np.sum(b.ravel() ** 2) + np.sum(b.T.reshape(-1) * np.arange(6.0))

    return f


@hostile(P)
def strides_by_hand():
    def f(x):
        w = np.lib.stride_tricks.as_strided(x, (2, 2), (x.strides[0], x.strides[0]))
        return np.sum(w.ravel() * np.arange(4.0)) + np.sum(w.flatten("F") * np.arange(4.0))

    return f


@hostile(P)
def hidden_in_a_callable_of_c():
    get = operator.itemgetter("k")
    return lambda x: get({"k": x[0]}) * functools.partial(get, {"k": x[1]})()


@hostile(P)
def kept_by_a_key_function():
    class Key:
        best = None

        def __init__(self, v):
            self.v = v

        def __lt__(self, other):
            Key.best = self.v * other.v
            return float(self.v) < float(other.v)

    return lambda x: (min(x[0], x[1], key=Key) * 0.0) + Key.best * 2.0


@hostile(P)
def rule_fills_a_list_of_its_object():
    class Box:
        def __init__(self):
            self.seen = []

        def ap(self, v):
            self.seen.append(v * 2.0)
            return v

    @wg.rrule(Box.ap)
    def rule(self, v):
        return Box.ap(self, v), lambda bar: (None, bar)

    def f(x):
        box = Box()
        return box.ap(x[0]) + box.seen[0] * x[1]

    return f


@hostile(1.3)
def context_of_a_generator():
    @contextlib.contextmanager
    def scaled(k):
        yield k * 2.0

    def f(t):
        with scaled(t) as s, contextlib.nullcontext(t) as n:
            return s * n

    return f


@hostile(1.3)
def ordered_by_a_partial_key():
    class A:
        def __init__(self, t):
            self.t = t

        def key(self, k, scale):
            self.last = self.t * k
            return k * scale

    def f(t):
        a = A(t)
        sorted([2.0, 1.0], key=functools.partial(a.key, scale=2.0))
        return a.last + t

    return f


@hostile(1.3)
def named_tuple_made_by_c():
    T = collections.namedtuple("T", "a b")
    return lambda t: sum(T._make(iter([t, t * t]))) * T(1.0, t)._replace(a=t).a


@hostile(1.3)
def tree_of_partials():
    g = functools.partial(functools.partial(lambda a, b, c: a * b + c, 2.0), c=3.0)
    return lambda t: g(t) * functools.partial(g, t)()
