"""Programs with rules: odd results, workspaces in containers, kept results, pullbacks called later, declared constants."""

# ruff: noqa (each is as short as it can be written)

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import math
import threading
import types
import typing
import warnings
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple

import numpy as np
from hostile_table import Hostiles

import wengert as wg
from wengert.extend import non_differentiable, partials, vjp_rule

hostile = Hostiles()

V = np.array([0.7, -1.2, 2.0])


def ruled(g, back):
    """g with a rule whose pullback is `back(x, y, y_bar)`."""

    @wg.rrule(g)
    def rule(x):
        y = g(x)
        return y, lambda y_bar: back(x, y, y_bar)

    return g


# -- results of all structures


@hostile(1.3)
def list_of_list_of_list():
    g = ruled(lambda x: [[[x * x], []], x], lambda x, y, b: 2 * x * b[0][0][0] + b[1])
    return lambda x: g(x)[0][0][0] * g(x)[1]


@hostile(V)
def empty_arrays_among_results():
    g = ruled(lambda x: (x[:0], [x[:0], x * 2]), lambda x, y, b: 2 * b[1][1])
    return lambda x: np.sum(g(x)[0]) + np.sum(g(x)[1][1] ** 2)


@hostile(1.3)
def zero_dimensional_arrays_in_a_list():
    g = ruled(lambda x: [np.array(x * x), np.float64(x)], lambda x, y, b: 2 * x * b[0] + b[1])
    return lambda x: float(g(x)[0]) * float(g(x)[1])


@hostile(1.3)
def zero_dimensional_result():
    g = ruled(lambda x: np.array(x * x), lambda x, y, b: 2 * x * b)
    return lambda x: float(g(x) * g(x)[()])


@hostile(V, expected=np.full(3, 2.0))
def float32_results():
    g = ruled(lambda x: {"a": (x * 2).astype(np.float32), "b": np.float32(3.0)}, lambda x, y, b: 2 * b["a"])
    return lambda x: np.sum(g(x)["a"].astype(float)) * 1.0


@hostile(V)
def complex_results():
    g = ruled(lambda x: [x * (1 + 2j), x * 1j], lambda x, y, b: (b[0] * (1 - 2j) + b[1] * -1j).real)
    return lambda x: np.sum(g(x)[0].real * g(x)[0].imag + g(x)[1].imag)


@hostile(V)
def integers_and_texts_between():
    g = ruled(lambda x: ["a", 3, x * 2, None, True, {"k": x, "n": np.arange(2)}], lambda x, y, b: 2 * b[2] + b[5]["k"])

    def f(x):
        name, n, y, none, yes, d = g(x)
        return np.sum(y * n * d["k"] * d["n"][1]) if yes and none is None and name == "a" else 0.0

    return f


@hostile(1.2)
def userdict_and_userlist():
    g = ruled(lambda x: UserDict(a=UserList([x * x, x])), lambda x, y, b: 2 * x * b["a"][0] + b["a"][1])
    return lambda x: g(x)["a"][0] * g(x)["a"][1]


@hostile(1.2)
def defaultdict_result():
    def g(x):
        d = defaultdict(list)
        d["a"].append(x * x)
        return d

    ruled(g, lambda x, y, b: 2 * x * b["a"][0])

    def f(x):
        d = g(x)
        d["b"].append(x)
        return d["a"][0] * d["b"][0]

    return f


@hostile(1.2)
def chainmap_result():
    g = ruled(lambda x: ChainMap({"a": x * x}, {"b": x}), lambda x, y, b: 2 * x * b["a"] + b["b"])
    return lambda x: g(x)["a"] * g(x)["b"]


@hostile(1.2)
def counter_result():
    g = ruled(lambda x: Counter(a=x * x), lambda x, y, b: 2 * x * b["a"])
    return lambda x: g(x)["a"] * x


@hostile(1.2)
def simple_namespace_result():
    g = ruled(lambda x: types.SimpleNamespace(a=x * x, b=[x]), lambda x, y, b: 2 * x * b.a + b.b[0])

    def f(x):
        r = g(x)
        return r.a * r.b[0]

    return f


@hostile(1.2)
def frozen_dataclass_with_slots():
    @dataclasses.dataclass(frozen=True, slots=True)
    class R:
        a: float
        b: tuple

    g = ruled(lambda x: R(x * x, (x, [x])), lambda x, y, b: 2 * x * b.a + b.b[0] + b.b[1][0])
    return lambda x: g(x).a * g(x).b[0] * g(x).b[1][0]


@hostile(1.2)
def typing_named_tuple_with_default():
    class R(typing.NamedTuple):
        a: float
        b: float = 3.0

        @property
        def both(self):
            return self.a * self.b

    g = ruled(lambda x: R(x * x), lambda x, y, b: 2 * x * b.a)
    return lambda x: g(x).both


@hostile(1.2)
def list_subclass_with_attribute():
    class R(list):
        pass

    def g(x):
        r = R([x * x])
        r.scale = x
        return r

    ruled(g, lambda x, y, b: 2 * x * b[0] + b.scale)
    return lambda x: g(x)[0] * g(x).scale


@hostile(V)
def array_subclass_result():
    class M(np.ndarray):
        pass

    g = ruled(lambda x: (x * x).view(M), lambda x, y, b: 2 * x * np.asarray(b))
    return lambda x: np.sum(np.asarray(g(x)) * x)


@hostile(V)
def masked_array_result():
    g = ruled(lambda x: np.ma.array(x * x, mask=[0, 1, 0]), lambda x, y, b: 2 * x * np.asarray(b) * [1, 0, 1])
    return lambda x: float(g(x).sum())


@hostile(V)
def structured_array_result():
    def g(x):
        y = np.zeros(3, dtype=[("a", float), ("b", float)])
        y["a"], y["b"] = x, x * x
        return y

    ruled(g, lambda x, y, b: b["a"] + 2 * x * b["b"])
    return lambda x: np.sum(g(x)["a"] * g(x)["b"])


@hostile(V)
def dictionary_with_arrays_as_views_of_one():
    def g(x):
        base = np.concatenate([x, x * x])
        return {"all": base, "head": base[:3]}

    ruled(g, lambda x, y, b: b["all"][:3] + 2 * x * b["all"][3:] + b["head"])

    def f(x):
        d = g(x)
        return np.sum(d["all"][:3] * d["head"]) + np.sum(d["all"][3:])

    return f


@hostile(V)
def dictionary_with_views_written():
    def g(x):
        base = np.concatenate([x, x * x])
        return {"all": base, "head": base[:3]}

    ruled(g, lambda x, y, b: b["all"][:3] + 2 * x * b["all"][3:] + b["head"])

    def f(x):
        d = g(x)
        d["head"][0] = x[1] * 3
        return np.sum(d["all"][:3] * V) + np.sum(d["all"][3:])

    return f


@hostile(V)
def rows_of_one_matrix():
    def g(x):
        return list(np.outer(V, x))

    ruled(g, lambda x, y, b: sum(v * r for v, r in zip(V, b)))

    def f(x):
        rows = g(x)
        rows[0] *= 2.0
        return np.sum(rows[0] * rows[1] + rows[2])

    return f


@hostile(1.4)
def keys_that_are_numbers_and_tuples():
    g = ruled(lambda x: {1: x, 1.5: x * x, (0, "a"): 3 * x}, lambda x, y, b: b[1] + 2 * x * b[1.5] + 3 * b[0, "a"])
    return lambda x: g(x)[1] * g(x)[1.5] * g(x)[0, "a"]


@hostile(1.4)
def keys_that_are_the_argument():
    g = ruled(lambda x: {x: x * x}, lambda x, y, b: 2 * x * b[x])
    return lambda x: sum(k * v for k, v in g(x).items())


@hostile(1.4)
def keys_view_and_items():
    g = ruled(lambda x: {"a": x, "b": x * x}, lambda x, y, b: b["a"] + 2 * x * b["b"])
    return lambda x: math.prod(g(x).values()) + sum(v for _, v in sorted(g(x).items()))


@hostile(1.4)
def dictionary_values_view_as_result():
    g = ruled(lambda x: {"a": x, "b": x * x}.values(), lambda x, y, b: 0.0)
    return lambda x: sum(g(x))


@hostile(1.4)
def map_zip_and_iter_results():
    g = ruled(lambda x: map(lambda k: k * x, [1, 2]), lambda x, y, b: 3 * b)
    return lambda x: sum(g(x))


@hostile(1.4)
def bound_method_as_result():
    class C:
        def __init__(self, x):
            self.x = x

        def times(self, t):
            return self.x * t

    g = ruled(lambda x: C(x * x).times, lambda x, y, b: 0.0)
    return lambda x: g(x)(x)


@hostile(1.4)
def partial_as_result():
    g = ruled(lambda x: functools.partial(pow, x), lambda x, y, b: 0.0)
    return lambda x: g(x)(3.0)


@hostile(1.4)
def class_as_result():
    g = ruled(lambda x: type("C", (), {"value": x * x}), lambda x, y, b: 0.0)
    return lambda x: g(x).value


@hostile(1.4)
def exception_as_result():
    g = ruled(lambda x: ValueError(x * x), lambda x, y, b: 0.0)
    return lambda x: g(x).args[0] * x


@hostile(1.4)
def object_with_property_and_cache():
    class C:
        def __init__(self, x):
            self.x = x

        @functools.cached_property
        def square(self):
            return self.x**2

    def g(x):
        c = C(x)
        c.square
        return c

    ruled(g, lambda x, y, b: b.x + 2 * x * b.square)
    return lambda x: g(x).square * g(x).x


@hostile(1.4)
def object_with_getattr():
    class C:
        def __init__(self, x):
            object.__setattr__(self, "d", {"x": x})

        def __getattr__(self, name):
            if name == "square":
                return self.d["x"] ** 2
            raise AttributeError(name)

    g = ruled(lambda x: C(x), lambda x, y, b: b.d["x"])
    return lambda x: g(x).square


@hostile(1.4)
def result_refers_to_itself():
    def g(x):
        l = [x * x]
        l.append(l)
        return l

    ruled(g, lambda x, y, b: 2 * x * b[0])
    return lambda x: g(x)[1][1][0] * x


@hostile(1.4)
def result_holds_its_parent():
    class Node:
        def __init__(self, x, parent):
            self.x, self.parent, self.children = x, parent, []

    def g(x):
        root = Node(x, None)
        root.children.append(Node(x * x, root))
        return root

    ruled(g, lambda x, y, b: b.x + 2 * x * b.children[0].x)

    def f(x):
        root = g(x)
        return root.children[0].x * root.children[0].parent.x

    return f


@hostile(V)
def same_array_in_two_places_written():
    def g(x):
        y = x * 2
        return [y, {"y": y}]

    ruled(g, lambda x, y, b: 2 * (b[0] + (b[1]["y"] if b[1]["y"] is not b[0] else 0)))

    def f(x):
        a, d = g(x)
        a[0] = x[1]
        return np.sum(a * V) + np.sum(d["y"] * d["y"])

    return f


@hostile(1.4)
def rule_returns_other_structure_than_function():
    def g(x):
        return [x * x, x]

    @wg.rrule(g)
    def rule(x):
        return (x * x, x), lambda b: 2 * x * b[0] + b[1]

    return lambda x: g(x)[0] * g(x)[1]


@hostile(1.4)
def result_of_a_partial_class():
    class C:
        def __init__(self, x, k):
            self.y = x**k

    made = functools.partial(C, k=3)

    @wg.rrule(made)
    def rule(x):
        return made(x), lambda b: 3 * x**2 * b.y

    return lambda x: made(x).y * x


@hostile(1.4)
def classmethod_constructor():
    class C:
        def __init__(self, y):
            self.y = y

        @classmethod
        def of(cls, x):
            return cls(x * x)

    @wg.rrule(C.of)
    def rule(x):
        return C.of(x), lambda b: 2 * x * b.y

    return lambda x: C.of(x).y * x


@hostile(1.4)
def call_of_an_object_with_state():
    class C:
        def __init__(self):
            self.calls = []

        def __call__(self, x):
            self.calls.append(x)
            return x * x

    @wg.rrule(C.__call__)
    def rule(self, x):
        return C.__call__(self, x), lambda b: (None, 2 * x * b)

    def f(x):
        c = C()
        y = c(x)
        return y * c(2 * x) * len(c.calls)

    return f


@hostile(V)
def workspaces_in_a_list():
    W1, W2 = np.empty(3), np.empty(3)

    def g(x):
        np.multiply(x, x, out=W1)
        np.multiply(x, 3.0, out=W2)
        return [W1, W2]

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda b: 2 * x * b[0] + 3 * b[1]

    def f(x):
        a = g(x)
        p = a[0] * a[1]
        b = g(p)
        return np.sum(b[0] * b[1]) + np.sum(p)

    return f


@hostile(V)
def workspaces_in_a_list_read_after():
    W1, W2 = np.empty(3), np.empty(3)

    def g(x):
        np.multiply(x, x, out=W1)
        np.multiply(x, 3.0, out=W2)
        return [W1, W2]

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda b: 2 * x * b[0] + 3 * b[1]

    def f(x):
        a = g(x)
        b = g(2 * x)
        return np.sum(b[0] * b[1]) + np.sum(a[0] * x)

    return f


@hostile(V)
def workspaces_in_a_tuple():
    W1, W2 = np.empty(3), np.empty(3)

    def g(x):
        np.multiply(x, x, out=W1)
        np.multiply(x, 3.0, out=W2)
        return W1, W2

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda b: 2 * x * b[0] + 3 * b[1]

    def f(x):
        a, c = g(x)
        p = a * c
        b, d = g(p)
        return np.sum(b * d) + np.sum(p)

    return f


@hostile(V)
def workspaces_in_a_dictionary_that_is_kept():
    W = {"a": np.empty(3)}

    def g(x):
        np.multiply(x, x, out=W["a"])
        return W

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda b: 2 * x * b["a"]

    def f(x):
        p = g(x)["a"] * x
        q = g(p)["a"] * x
        return np.sum(p * q)

    return f


@hostile(V)
def workspaces_of_an_object():
    class S:
        def __init__(self):
            self.u, self.v = np.empty(3), np.empty(3)

        def run(self, x):
            self.u[:] = x * x
            self.v[:] = 3 * x
            return self

    s = S()

    def g(x):
        return s.run(x)

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda b: 2 * x * b.u + 3 * b.v

    def f(x):
        r = g(x)
        p = r.u * r.v
        r = g(p)
        return np.sum(r.u * r.v * p)

    return f


@hostile(V)
def rows_of_a_workspace():
    W = np.empty((2, 3))

    def g(x):
        W[0], W[1] = x * x, 3 * x
        return W[0], W[1]

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda b: 2 * x * b[0] + 3 * b[1]

    def f(x):
        a, b = g(x)
        p = a * b
        c, d = g(p)
        return np.sum(p * c * d)

    return f


@hostile(V)
def view_of_a_workspace():
    W = np.empty(10)

    def g(x):
        W[2:5] = x * x
        return W[2:5]

    ruled(g, lambda x, y, b: 2 * x * b)

    def f(x):
        a = g(x)
        p = a * x
        b = g(p)
        return np.sum(b * p)

    return f


@hostile(V)
def workspaces_that_alternate():
    W = [np.empty(3), np.empty(3)]
    turn = itertools.cycle([0, 1])

    def g(x):
        w = W[next(turn)]
        w[:] = x * x
        return w

    ruled(g, lambda x, y, b: 2 * x * b)

    def f(x):
        a, b = g(x), g(2 * x)
        p = a * b
        c = g(p)
        return np.sum(c * p)

    return f


@hostile(V)
def workspace_read_late():
    W = np.empty(3)

    def g(x):
        W[:] = x * x
        return W

    ruled(g, lambda x, y, b: 2 * x * b)

    def f(x):
        a = g(x)
        b = g(2 * x)
        return np.sum(a * b)

    return f


@hostile(V)
def workspace_in_nested_gradient():
    W = np.empty(3)

    def g(x):
        W[:] = x * x
        return W

    ruled(g, lambda x, y, b: 2 * x * b)

    def f(x):
        def inner(t):
            p = g(t * x) * 1.0
            q = g(p + x) * 1.0
            return np.sum(p * q)

        return np.sum(wg.grad(inner)(x) * x)

    return f


@hostile(V)
def workspace_list_in_nested_gradient():
    W = [np.empty(3), np.empty(3)]

    def g(x):
        W[0][:], W[1][:] = x * x, 3 * x
        return W

    ruled(g, lambda x, y, b: 2 * x * b[0] + 3 * b[1])

    def f(x):
        def inner(t):
            p, q = g(t * x)
            p = p * q
            r, s = g(p)
            return np.sum(p * r * s)

        return np.sum(wg.grad(inner)(x) * x)

    return f


@hostile(V)
def workspace_in_a_checkpoint():
    W = np.empty(3)

    def g(x):
        W[:] = x * x
        return W

    ruled(g, lambda x, y, b: 2 * x * b)

    def block(x):
        p = g(x) * x
        return g(p) * p

    return lambda x: np.sum(wg.checkpoint(block)(x) * wg.checkpoint(block)(x))


@hostile(V)
def workspace_list_in_a_checkpoint():
    W = [np.empty(3)]

    def g(x):
        W[0][:] = x * x
        return W

    ruled(g, lambda x, y, b: 2 * x * b[0])

    def block(x):
        p = g(x)[0] * x
        return g(p)[0] * p

    return lambda x: np.sum(wg.checkpoint(block)(x) * wg.checkpoint(block)(x))


@hostile(V)
def workspace_in_the_pullback():
    W = np.empty(3)

    def g(x):
        return x * x

    def back(x, y, b):
        W[:] = 2 * x * b
        return W

    ruled(g, back)
    return lambda x: np.sum(g(g(x) * x) * g(x) + x)


@hostile(V)
def workspace_in_the_pullback_kept_by_vjp():
    W = np.empty(3)

    def g(x):
        return x * x

    def back(x, y, b):
        W[:] = 2 * x * b
        return W

    ruled(g, back)

    def f(x):
        _, pull = wg.vjp(g, x)
        (a,) = pull(np.ones(3))
        (b,) = pull(x)
        return np.sum(a * b)

    return f


@hostile(V)
def workspace_list_in_the_pullback():
    W = [np.empty(3), np.empty(3)]

    def g(x, y):
        return x * y

    @wg.rrule(g)
    def rule(x, y):
        def back(b):
            W[0][:], W[1][:] = y * b, x * b
            return tuple(W)

        return g(x, y), back

    return lambda x: np.sum(g(g(x, x), x) * g(x, V))


@hostile(V)
def argument_and_its_view_in_a_list():
    g = ruled(lambda x: [x, x[::-1], x.reshape(3, 1)], lambda x, y, b: 5 * (b[0] + b[1][::-1] + b[2][:, 0]) / 5)

    def f(x):
        y = x * x
        a, b, c = g(y)
        return np.sum(a * b) + np.sum(c * 2) + np.sum(y)

    return f


@hostile(V, expected=-2 * V)
def reversal_in_a_dictionary():
    g = ruled(lambda x: {"x": x}, lambda x, y, b: -b["x"])

    def f(x):
        y = np.zeros(3)
        y[:] = g(x * x)["x"]
        return np.sum(y)

    return f


@hostile(V, expected=-2 * V)
def reversal_by_out():
    g = ruled(lambda x: x, lambda x, y, b: -b)

    def f(x):
        y = np.zeros(3)
        np.copyto(y, g(x * x))
        return np.sum(y)

    return f


@hostile(V, expected=-3 * np.ones(3))
def reversal_of_slices_and_reshapes():
    g = ruled(lambda x: x, lambda x, y, b: -b)

    def f(x):
        y = g(x[:2])
        z = g(x.reshape(3, 1)).ravel()
        return 3 * np.sum(y) + 3 * z[2]

    return f


@hostile(V, expected=3 * np.ones(3))
def reversal_and_the_argument_after():
    g = ruled(lambda x: x, lambda x, y, b: -b)

    def f(x):
        y = x * 1.0
        z = g(y)
        return np.sum(z) + 4 * np.sum(y)

    return f


@hostile(V)
def reversal_then_write_to_the_argument():
    g = ruled(lambda x: x, lambda x, y, b: 1 * b)

    def f(x):
        y = x * 1.0
        z = g(y)
        y[0] = 5.0
        return np.sum(z * z) + np.sum(y)

    return f


@hostile(V)
def reversal_written_in_place():
    g = ruled(lambda x: x, lambda x, y, b: 1 * b)

    def f(x):
        y = x * 1.0
        z = g(y)
        z *= 3.0
        return np.sum(z * z) + np.sum(y * y)

    return f


@hostile(V)
def broadcast_view_as_result():
    g = ruled(lambda x: np.broadcast_to(x, (2, 3)), lambda x, y, b: b.sum(0))
    return lambda x: np.sum(g(x * x) * np.arange(6.0).reshape(2, 3))


@hostile(V, expected=np.array([1.0, 0, 0]))
def constant_array_straight_through():
    ONES = np.ones(3)
    g = ruled(lambda x: ONES, lambda x, y, b: b)
    return lambda x: g(x)[0] + np.sum(ONES)


@hostile(V, expected=np.array([1.0, 2.0, 3.0]))
def constant_list_straight_through():
    TABLE = [1.0, 2.0, 3.0]
    g = ruled(lambda x: TABLE, lambda x, y, b: np.array(b))

    def f(x):
        t = g(x)
        return t[0] + 2 * t[1] + 3 * t[2] + sum(TABLE)

    return f


@hostile(1.5, expected=1.0)
def default_value_straight_through():
    def g(x, y=2.0):
        return y

    @wg.rrule(g)
    def rule(x, y=2.0):
        return y, lambda b: (b, 0.0)

    return lambda x: g(x) * 1.0


@hostile(2.5, expected=1.0)
def rounded_straight_through():
    g = ruled(lambda x: float(round(x)), lambda x, y, b: b)
    return lambda x: g(x) + round(g(x))


@hostile(2.5, expected=4.0)
def integer_result_straight_through():
    g = ruled(lambda x: int(x), lambda x, y, b: b)
    return lambda x: g(x) * 2.0 + 4.0 * x


@hostile(2.5)
def one_of_two_arguments():
    def g(a, b):
        return a if a > b else b

    @wg.rrule(g)
    def rule(a, b):
        y = g(a, b)
        return y, lambda bar: (bar if a > b else 0.0, 0.0 if a > b else bar)

    return lambda x: g(x, 2 * x) * x + g(x * x, x)


@hostile(2.5)
def argument_of_python_and_numpy():
    g = ruled(lambda x: x, lambda x, y, b: 1.0 * b)
    return lambda x: g(np.float64(x)) * g(float(x)) * g(x) * x


@hostile(V)
def swap_in_a_tuple():
    def g(a, b):
        return b, a

    @wg.rrule(g)
    def rule(a, b):
        return g(a, b), lambda bar: (bar[1], bar[0])

    def f(x):
        a, b = g(x * x, 3 * x)
        c, d = g(a, b)
        return np.sum(a * c * x) + np.sum(d)

    return f


@hostile(1.5)
def singleton_result_object():
    class Holder:
        y = 0.0

    H = Holder()

    def g(x):
        H.y = x * x
        return H

    ruled(g, lambda x, y, b: 2 * x * b.y)

    def f(x):
        a = g(x)
        first = a.y
        b = g(first)
        return first * b.y

    return f


# -- bodies of the other forms


@hostile(V)
def body_writes_by_a_helper_of_the_module():
    def add_to(a, v):
        a += v

    def g(x, y):
        return x + y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        out = np.zeros(3)
        add_to(out, y_bar)
        return out, out.copy()

    return lambda x: np.sum(g(x, x * x) * V)


@hostile(V)
def body_with_ufunc_at_and_place():
    def g(x):
        return np.cumsum(x)

    @vjp_rule(g)
    def rule(y_bar, y, x):
        out = np.zeros(3)
        for k in range(3):
            np.add.at(out, np.arange(k + 1), y_bar[k])
        np.place(out, out == 12345.0, [0.0])
        return out

    return lambda x: np.sum(g(x) * V)


@hostile(V)
def body_with_fill_sort_put():
    def g(x):
        return np.full(3, np.sum(x))

    @vjp_rule(g)
    def rule(y_bar, y, x):
        out = np.empty(3)
        out.fill(np.sum(y_bar))
        idx = np.array([2, 0, 1])
        idx.sort()
        np.put(out, idx, out[idx])
        return out

    return lambda x: np.sum(g(x) * x)


@hostile(V)
def body_with_setattr_flat_and_shape():
    def g(x):
        return 2 * x

    @vjp_rule(g)
    def rule(y_bar, y, x):
        out = np.zeros((3, 1))
        out.flat[:] = 2 * y_bar
        return out.reshape(3)

    return lambda x: np.sum(g(x) * x)


@hostile(V)
def body_with_swap_and_chain():
    def g(x, y):
        return x - y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        p = q = np.zeros(3)
        p += y_bar
        r, s = -q, p
        r, s = s, r
        return r, s

    return lambda x: np.sum(g(x * x, V) * g(V, x))


@hostile(V)
def body_with_transposed_writes():
    def g(x):
        return np.outer(x, [1.0, 2.0])

    @vjp_rule(g)
    def rule(y_bar, y, x):
        out = np.zeros((3, 2))
        t = out.T
        t[0] = y_bar[:, 0]
        t[1] = 2 * y_bar[:, 1]
        return out.sum(1)

    return lambda x: np.sum(g(x) * g(x * x))


@hostile(V)
def body_with_real_part_written():
    def g(x):
        return x * 3

    @vjp_rule(g)
    def rule(y_bar, y, x):
        out = np.zeros(3, complex)
        out.real[:] = 3 * y_bar
        re = out.real
        return re

    return lambda x: np.sum(g(x) * x)


@hostile(V)
def body_with_default_argument_list():
    def g(x):
        return x * 3

    @vjp_rule(g)
    def rule(y_bar, y, x, *, seen=[]):
        seen.append(1)
        return y_bar * (3 if len(seen) > 0 else 0)

    return lambda x: np.sum(g(x) * x)


@hostile(V)
def body_with_counter_and_star():
    def g(*xs):
        return xs[0] * xs[1]

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        parts = dict(a=b * y_bar, b=a * y_bar)
        parts.update(b=parts["b"] * 1.0)
        parts |= {"c": None}
        return tuple(parts[k] for k in ("a", "b"))

    return lambda x: np.sum(g(x, V) * g(x * x, x))


@hostile(V)
def body_with_match():
    def g(x, y):
        return x * y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        match (a.shape, y_bar):
            case ((3,), bar):
                out = b * bar
            case _:
                out = None
        return out, a * y_bar

    return lambda x: np.sum(g(x, V) * g(x * x, x))


@hostile(V)
def body_with_while_and_else():
    def g(x):
        return x**3

    @vjp_rule(g)
    def rule(y_bar, y, x):
        k, out = 0, np.ones(3)
        while k < 2:
            out *= x
            k += 1
        else:
            out *= 3
        return out * y_bar

    return lambda x: np.sum(g(x) * g(2 * x))


@hostile(V)
def body_that_aliases_its_cotangent():
    def g(x, y):
        return x + y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        z = y_bar
        z *= 2
        z /= 2
        return z, z

    return lambda x: np.sum(g(x, x * x) * g(x * 2, x))


@hostile(V)
def body_that_raises_unless():
    def g(x):
        return x * 2

    @vjp_rule(g)
    def rule(y_bar, y, x):
        if np.any(x > 100):
            raise ValueError
        return 2 * y_bar

    return lambda x: np.sum(g(x) * x)


@hostile(1.5)
def partials_with_side_list():
    calls = []

    def g(x, y):
        return x * y

    @partials(g)
    def rule(z, x, y):
        calls.append(1)
        return y * (len(calls) > 0), x

    return lambda x: g(x, 2 * x) * g(3.0, x)


@hostile(V)
def nested_helper_with_nonlocal():
    def g(x):
        return np.cumprod(x)

    @vjp_rule(g)
    def rule(y_bar, y, x):
        total = np.zeros(3)

        def add(k):
            nonlocal total
            bar = np.zeros(3)
            bar[: k + 1] = y_bar[k] * y[k] / x[: k + 1]
            total = total + bar

        for k in range(3):
            add(k)
        return total

    return lambda x: np.sum(g(x) * V)


# -- pullbacks that write ȳ


@hostile(V)
def pullback_writes_each_part():
    g = ruled(lambda x: (x * 2, [x * 3]), lambda x, y, b: (b[0].__imul__(2), b[1][0].__imul__(3))[0] + b[1][0])

    def f(x):
        a, (b,) = g(x)
        return np.sum(a * b + a + b)

    return f


@hostile(V)
def pullback_keeps_its_cotangent():
    kept = []

    def back(x, y, b):
        kept.append(b)
        out = 2 * b
        for k in kept:
            k[:] = 1e6
        return out

    g = ruled(lambda x: 2 * x, back)
    return lambda x: np.sum(g(g(x) * x) + g(x) * V)


@hostile(V)
def pullback_returns_its_cotangent_and_keeps_it():
    kept = []

    def back(x, y, b):
        for k in kept:
            k[:] = 1e6
        kept.append(b)
        return b

    g = ruled(lambda x: x * 1.0, back)
    return lambda x: np.sum(g(g(x * x) * x) + g(x) * V)


@hostile(V)
def pullback_returns_a_view_of_what_it_keeps():
    store = np.zeros(6)

    def back(x, y, b):
        store[:3] = 2 * x * b
        return store[:3]

    g = ruled(lambda x: x * x, back)
    return lambda x: np.sum(g(x) * V) + np.sum(g(g(x)))


@hostile(V)
def pullback_by_out_of_y_bar():
    g = ruled(lambda x: np.sin(x), lambda x, y, b: np.multiply(b, np.cos(x), out=b))

    def f(x):
        y = x * 1.0
        return np.sum(g(y) + y) + np.sum(g(y) * V)

    return f


@hostile(V)
def pullback_writes_y_bar_of_vjp():
    def back(x, y, b):
        b *= 2
        return b

    g = ruled(lambda x: 2 * x, back)

    def f(x):
        seed = x * 1.0
        _, pull = wg.vjp(g, V)
        (a,) = pull(seed)
        (b,) = pull(seed)
        return np.sum(a * b) + np.sum(seed)

    return f


@hostile(V)
def pullback_reshapes_y_bar():
    def back(x, y, b):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            b.shape = (3, 1)
        return 2 * b[:, 0]

    g = ruled(lambda x: 2 * x, back)
    return lambda x: np.sum(g(x) * x)


@hostile(V)
def pullback_writes_through_reshape():
    def back(x, y, b):
        flat = b.reshape(-1)
        flat *= 2
        return b

    g = ruled(lambda x: np.outer(2 * x, V)[:, 0] / V[0], back)

    def f(x):
        y = g(x)
        return np.sum(y * y + y) + np.sum(y)

    return f


# -- non_differentiable and numbers


@hostile(V, expected=V * V)
def constant_dictionary_of_views():
    @wg.non_differentiable
    def keep(x):
        return {"v": x[:], "r": x[::-1]}

    return lambda x: np.sum(x * keep(x)["v"] * keep(x)["v"])


@hostile(V, expected=np.full(3, 2.7))
def constant_object():
    class C:
        def __init__(self, x):
            self.x = x

    @wg.non_differentiable
    def keep(x):
        return C(x)

    return lambda x: np.sum(x) * (keep(x).x[0] + keep(x).x[2])


@hostile(1.5, expected=1.5)
def constant_generator():
    @wg.non_differentiable
    def keep(x):
        return (v for v in [x])

    return lambda x: x * next(keep(x))


@hostile(1.5, expected=1.5)
def constant_closure():
    @wg.non_differentiable
    def keep(x):
        return lambda: x

    return lambda x: x * keep(x)()


@hostile(1.5, expected=1.5)
def constant_method_of_a_class():
    class C:
        def __init__(self, x):
            self.x = x

        @wg.non_differentiable
        def value(self):
            return self.x

    return lambda x: x * C(x).value()


@hostile(1.5, expected=1.5)
def constant_kept_for_later():
    store = {}

    @wg.non_differentiable
    def keep(x):
        store["x"] = x

    def f(x):
        keep(x)
        return x * wg.stop_gradient(store["x"])

    return f


@hostile(V)
def stopped_then_written():
    def f(x):
        y = x * 1.0
        z = wg.stop_gradient(y)
        y[0] = y[1] * 2.0
        return np.sum(y * y)

    return f


@hostile(np.float64(1.5))
def numpy_number_arguments_of_rules():
    g = ruled(lambda x: x * x, lambda x, y, b: 2 * x * b)
    return lambda x: g(x) * g(np.float64(2.0) * x) + g(3)


@hostile(np.float32(1.5), expected=np.float32(2 * 1.5 * 3))
def float32_number():
    g = ruled(lambda x: x * x, lambda x, y, b: 2 * x * b)
    return lambda x: g(x) * np.float32(3)


# -- values that a function with a rule reads beside its arguments


@hostile(1.5)
def rule_reads_an_attribute_of_self():
    class M:
        def __init__(self, w):
            self.w = w

        def run(self, t):
            return self.w * t

    @wg.rrule(M.run)
    def rule(self, t):
        return M.run(self, t), lambda b: (wg.Tangent(M, w=b * t), self.w * b)

    return lambda x: M(x * x).run(x) * M(x).run(2.0)


@hostile(1.5)
def callable_argument_that_holds_traced():
    def g(h, t):
        return h(t)

    @wg.rrule(g)
    def rule(h, t):
        return g(h, t), lambda b: (None, b)

    return lambda x: g(lambda t: x * t, x)


@hostile(V)
def two_threads_in_turn():
    g = ruled(lambda x: [x * x, {"y": 3 * x}], lambda x, y, b: 2 * x * b[0] + 3 * b[1]["y"])

    def f(x):
        a, d = g(x)
        return np.sum(a * d["y"])

    results = []

    def other():
        results.append(wg.grad(f)(V))

    threads = [threading.Thread(target=other) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(np.allclose(r, 9 * V**2) for r in results)
    return f


@hostile(V)
def exception_in_the_middle_of_a_workspace():
    W = [np.empty(3)]

    def g(x):
        W[0][:] = x * x
        if W[0][0] > 1e3:
            raise ValueError
        return W

    ruled(g, lambda x, y, b: 2 * x * b[0])

    def f(x):
        a = g(x)[0]
        p = a * x
        try:
            g(p * 1e6)
        except ValueError:
            pass
        return np.sum(p) + np.sum(g(p)[0])

    return f


@hostile(V)
def exception_overwrites_a_result_that_is_read():
    W = np.empty(3)

    def g(x):
        W[:] = x * x
        if W[0] > 1e3:
            raise ValueError
        return W

    ruled(g, lambda x, y, b: 2 * x * b)

    def f(x):
        a = g(x)
        try:
            g(x * 1e6)
        except ValueError:
            pass
        return np.sum(a * 1e-9)

    return f


@hostile(V)
def exception_after_writing_the_argument():
    def g(x):
        x *= 2.0
        raise ValueError

    ruled(g, lambda x, y, b: b)

    def f(x):
        y = x * x
        try:
            g(y)
        except ValueError:
            pass
        return np.sum(y)

    return f


@hostile(1.5)
def rule_reads_a_cell():
    def f(x):
        w = x * x

        def g(t):
            return w * t

        @wg.rrule(g)
        def rule(t):
            return g(t), lambda b: w * b

        return g(x)

    return f


@hostile(1.5)
def rule_reads_a_cell_with_a_constant_argument():
    def f(x):
        w = x * x

        def g(t):
            return w * t

        @wg.rrule(g)
        def rule(t):
            return g(t), lambda b: w * b

        return g(2.0) * x

    return f


@hostile(1.5)
def rule_of_one_bound_method_reads_self():
    class M:
        def __init__(self, w):
            self.w = w

        def run(self, t):
            return self.w * t

    model = M(2.0)

    @wg.rrule(model.run)
    def rule(t):
        return model.w * t, lambda b: model.w * b

    def f(x):
        model.w = x * x
        y = model.run(x)
        model.w = 2.0
        return y

    return f


@hostile(1.5)
def rule_reads_a_global_dictionary():
    settings = {"w": 2.0}

    def g(t):
        return settings["w"] * t

    ruled(g, lambda t, y, b: settings["w"] * b)

    def f(x):
        settings["w"] = x * x
        y = g(x)
        settings["w"] = 2.0
        return y

    return f


@hostile(V)
def rule_reads_a_global_array():
    W = np.ones(3)

    def g(t):
        return W * t

    ruled(g, lambda t, y, b: W * b)

    def f(x):
        W[:] = x * x
        y = np.sum(g(x))
        W[:] = 1.0
        return y

    return f


@hostile(1.5)
def rule_reads_through_a_helper():
    settings = types.SimpleNamespace(w=2.0)

    def helper(t):
        return settings.w * t

    def g(t):
        return helper(t)

    ruled(g, lambda t, y, b: settings.w * b)

    def f(x):
        settings.w = x * x
        y = g(x)
        settings.w = 2.0
        return y

    return f


@hostile(1.5)
def rule_reads_a_class_attribute():
    class Config:
        w = 2.0

    def g(t):
        return Config.w * t

    ruled(g, lambda t, y, b: Config.w * b)

    def f(x):
        Config.w = x * x
        y = g(x)
        Config.w = 2.0
        return y

    return f


GLOBAL = 2.0


@hostile(1.5)
def rule_reads_a_global_name():
    def g(t):
        return GLOBAL * t

    ruled(g, lambda t, y, b: GLOBAL * b)

    def f(x):
        global GLOBAL
        GLOBAL = x * x
        y = g(x)
        GLOBAL = 2.0
        return y

    return f


@hostile(1.5)
def pullback_rule_reads_a_cell():
    def f(x):
        w = x * x

        def g(t):
            return w * t

        @vjp_rule(g)
        def rule(y_bar, y, t):
            return w * y_bar

        return g(x)

    return f


@hostile(1.5)
def rule_reads_a_traced_default():
    def f(x):
        def g(t, w=x * x):
            return w * t

        @wg.rrule(g)
        def rule(t, w=None):
            return g(t), lambda b: (g.__defaults__[0] * b, None)

        return g(x)

    return f


@hostile(V)
def output_argument_is_filled():
    def g(x, out):
        out[:] = x * x

    @wg.rrule(g)
    def rule(x, out):
        return g(x, out), lambda b: (b, None)

    def f(x):
        out = np.zeros(3)
        g(x, out)
        return np.sum(out * x)

    return f


@hostile(V)
def output_argument_in_a_list_is_filled():
    def g(x, outs):
        outs[0][:] = x * x
        return x

    @wg.rrule(g)
    def rule(x, outs):
        return g(x, outs), lambda b: (b, None)

    def f(x):
        outs = [np.zeros(3)]
        g(x, outs)
        return np.sum(outs[0] * x)

    return f


@hostile(V)
def output_argument_by_keyword():
    def g(x, *, out=None):
        if out is not None:
            out[:] = x * x
        return x

    @wg.rrule(g)
    def rule(x, *, out=None):
        return g(x, out=out), lambda b: b

    def f(x):
        out = np.zeros(3)
        g(x, out=out)
        return np.sum(out * x)

    return f


@hostile(V)
def output_argument_is_returned():
    def g(x, out):
        np.multiply(x, x, out=out)
        return out

    @wg.rrule(g)
    def rule(x, out):
        return g(x, out), lambda b: (2 * x * b, None)

    def f(x):
        out = np.zeros(3)
        y = g(x, out)
        return np.sum(y * x) + np.sum(out)

    return f


@hostile(V)
def output_argument_of_a_pullback_rule():
    def g(x, out):
        out[:] = x * x
        return x * 1.0

    @vjp_rule(g)
    def rule(y_bar, y, x, out):
        return y_bar, None

    def f(x):
        out = np.zeros(3)
        y = g(x, out)
        return np.sum(out * y)

    return f


# -- programs near these that are right


@hostile(V)
def log_of_arguments():
    log = []

    def g(x):
        log.append(x)
        return x * x

    ruled(g, lambda x, y, b: 2 * x * b)
    return lambda x: np.sum(g(x) * g(g(x)))


@hostile(V)
def scratch_array_given_twice():
    def g(x, work):
        work[:] = x
        return np.sin(x)

    @wg.rrule(g)
    def rule(x, work):
        return g(x, work), lambda b: (np.cos(x) * b, None)

    def f(x):
        work = np.zeros(3)
        return np.sum(g(g(x, work), work) * x)

    return f


@hostile(V)
def workspace_in_a_body():
    W = np.empty(3)

    def g(x):
        return x * x

    @vjp_rule(g)
    def rule(y_bar, y, x):
        W[:] = 2 * x * y_bar
        return W

    return lambda x: np.sum(g(g(x) * x) * g(x) + x)


@hostile(V)
def workspace_in_a_body_for_two_arguments():
    W = [np.empty(3), np.empty(3)]

    def g(x, y):
        return x * y

    @vjp_rule(g)
    def rule(y_bar, z, x, y):
        W[0][:], W[1][:] = y * y_bar, x * y_bar
        return W[0], W[1]

    return lambda x: np.sum(g(g(x, x), x) * g(x, V))


@hostile(V)
def body_that_keeps_what_it_returns():
    kept = []

    def g(x):
        return 2.0 * x

    @vjp_rule(g)
    def rule(y_bar, y, x):
        for k in kept:
            k[:] = 1e6
        kept.append(2.0 * y_bar)
        return kept[-1]

    return lambda x: np.sum(g(g(x * x) * x) + g(x) * V)
