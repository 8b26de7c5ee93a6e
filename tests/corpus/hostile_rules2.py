"""Programs with rules, caches and cuts in other ways: halves of calls, threads, later pullbacks, small dtypes."""

# ruff: noqa (each is as short as it can be written)

from __future__ import annotations

import collections
import contextvars
import copy
import functools
import threading

import numpy as np
from hostile_table import Hostiles

import wengert as wg
from wengert.extend import partials, vjp_rule

hostile = Hostiles()

V = np.array([0.7, -1.2, 2.0])
NAN = float("nan")


def ruled(g, back):
    @wg.rrule(g)
    def rule(*args, **kwargs):
        y = g(*args, **kwargs)
        return y, lambda y_bar: back(y_bar, *args)

    return g


@hostile(V)
def exception_half_way_through_a_rule():
    tries = []

    def g(x):
        tries.append(1)
        if len(tries) % 2:
            raise ValueError
        return x * x

    ruled(g, lambda b, x: 2 * x * b)

    def f(x):
        tries.clear()
        y = x * 3
        try:
            y = g(y)
        except ValueError:
            y = g(y) * y
        return np.sum(y)

    return f


@hostile(V)
def rule_given_a_generator_of_traced_values():
    def g(parts):
        return np.sum(list(parts))

    ruled(g, lambda b, parts: None)
    return lambda x: g(v * v for v in x) + np.sum(x)


@hostile(V)
def result_as_a_view_of_a_default():
    def g(x, space=np.zeros((2, 3))):
        space[1] = x * x
        return space[1]

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda b: 2 * x * b

    return lambda x: np.sum(g(x) * 2.0) + np.sum(g(x * x) * x)


@hostile(V, np.full(3, 4.0))
def tree_of_small_floats():
    g = ruled(
        lambda x: {"a": x.astype(np.float32), "b": (x.astype(np.float16), 3)},
        lambda b, x: b["a"].astype(float) + b["b"][0].astype(float),
    )
    return lambda x: float(np.sum(g(x)["a"])) + float(np.sum(g(x)["b"][0])) * g(x)["b"][1]


@hostile(V)
def subclass_with_attributes_as_result():
    class Tagged(np.ndarray):
        pass

    def g(x):
        y = (x * x).view(Tagged)
        y.half = x / 2
        return y

    ruled(g, lambda b, x: 2 * x * b)

    def f(x):
        y = g(x)
        return np.sum(y) + np.sum(y.half)

    return f


@hostile(1.3)
def float_with_attributes_as_result():
    class Tagged(float):
        pass

    def g(x):
        y = Tagged(x * x)
        y.half = x / 2
        return y

    ruled(g, lambda b, x: 2 * x * b)
    return lambda x: g(x) * 1.0 + g(x).half


@hostile(V)
def list_subclass_with_attributes_as_result():
    class Found(list):
        pass

    def g(x):
        y = Found([x * x])
        y.norm = np.sum(x * x)
        return y

    ruled(g, lambda b, x: 2 * x * (b[0] + b.norm))
    return lambda x: np.sum(g(x)[0]) * g(x).norm


@hostile(V)
def tuple_subclass_with_attributes_as_result():
    class Found(tuple):
        pass

    def g(x):
        y = Found([x * x])
        y.norm = np.sum(x * x)
        return y

    ruled(g, lambda b, x: 2 * x * b[0])
    return lambda x: np.sum(g(x)[0]) + g(x).norm


@hostile(V)
def property_over_a_private_array():
    class Fit:
        def __init__(self, a):
            self._a = a

        @property
        def twice(self):
            return 2 * self._a

    g = ruled(lambda x: Fit(x * x), lambda b, x: 2 * x * b._a)
    return lambda x: np.sum(g(x).twice * x)


@hostile(1.3)
def pullback_called_in_another_thread():
    def f(x):
        _, back = wg.vjp(lambda t: t**3, x)
        out = []
        t = threading.Thread(target=lambda: out.append(back(1.0)[0]))
        t.start()
        t.join()
        return out[0] * x

    return f


@hostile(V)
def pullback_twice_with_a_write_between():
    def g(x):
        return x * x

    ruled(g, lambda b, x: 2 * x * b)

    def f(x):
        y = x * 1.0
        _, back = wg.vjp(g, y)
        a = back(np.ones(3))[0]
        a *= x
        c = back(a)[0]
        return np.sum(a * c)

    return f


@hostile(V)
def rule_in_a_checkpoint_that_raises_and_goes_on():
    def g(x):
        return x * x

    ruled(g, lambda b, x: 2 * x * b)

    def block(x):
        y = g(x)
        try:
            y = y * x
            raise KeyError
        except KeyError:
            y = g(y)
        return np.sum(y)

    return lambda x: wg.checkpoint(block)(x) * wg.checkpoint(block)(x * 2)


@hostile(V)
def partials_by_keyword_with_a_default():
    def g(x, power=2.0):
        return x**power

    @partials(g)
    def rule(y, x, power=2.0):
        return power * x ** (power - 1), None

    return lambda x: np.sum(g(x * x + 1, power=3.0)) + np.sum(g(power=2.0, x=x))


@hostile(V)
def result_that_is_two_arguments_at_once():
    def g(a, b):
        return {"a": a, "b": b, "both": [a, b]}

    ruled(g, lambda y, a, b: (3 * (y["a"] + y["both"][0]) / 3, y["b"] + y["both"][1]))

    def f(x):
        y = g(x, x)
        return np.sum(y["a"] * y["b"]) + np.sum(y["both"][0] * y["both"][1] * x)

    return f


@hostile(NAN, 3.0)
def nan_in_a_list():
    return lambda x: x * 2 if x in [1.0, 2.0] else x * 3


@hostile(NAN, 0.0)
def nan_is_found_as_the_same_object():
    return lambda x: (5.0 if x in [1.0, NAN] else 6.0) * 1.0


@hostile(NAN, 0.0)
def nan_is_a_key():
    known = {1.0: 2.0, NAN: 3.0}

    def f(x):
        try:
            y = known[x]
        except KeyError:
            y = 7.0
        return y + known.get(x, 8.0)

    return f


@hostile(NAN, 0.0)
def nan_has_a_place():
    known = [1.0, NAN, NAN]
    return lambda x: 1.0 * known.index(x) + 10.0 * known.count(x)


@hostile(V, 60 * V**2)
def rule_on_new_memory_written_in_part_inside_a_gradient():
    g = ruled(lambda x: np.stack([x, x * x]), lambda b, x: 10 * (b[0] + 2 * x * b[1]))

    def inner(x):
        y = g(x)
        y[0] *= 2
        return np.sum(y[0] * y[1])

    def f(x):
        a = wg.grad(inner)(x * 1.0)
        return inner(x) + 0.0 * np.sum(a)

    return f


@hostile(1.3)
def gradient_of_a_function_that_a_pullback_makes():
    def g(x):
        return x**3

    def back(b, x):
        h = lambda t: t * t * t
        return b * wg.grad(lambda t: h(t) * 1.0)(x)

    ruled(g, back)
    return lambda x: wg.grad(lambda t: g(t) * t)(x) * g(x)


@hostile(V)
def defaultdict_result_read_at_a_missing_key():
    def g(x):
        y = collections.defaultdict(lambda: x * 5)
        y["a"] = x * x
        return y

    ruled(g, lambda b, x: 2 * x * b["a"])
    return lambda x: np.sum(g(x)["a"]) + np.sum(g(x)["b"])


@hostile(V)
def result_with_a_cycle():
    def g(x):
        y = {"v": x * x}
        y["self"] = y
        return y

    ruled(g, lambda b, x: 2 * x * b["v"])
    return lambda x: np.sum(g(x)["self"]["self"]["v"] * x)


@hostile(V)
def result_copied_deeply():
    g = ruled(lambda x: [x * x, [x]], lambda b, x: 2 * x * b[0] + b[1][0])
    return lambda x: np.sum(copy.deepcopy(g(x))[0] * copy.copy(g(x))[1][0])


@hostile(V)
def memo_of_texts_of_digits():
    seen = {}

    def f(x):
        total = 0.0
        for v in x:
            for c in f"{v:.3f}":
                seen[c] = seen.get(c, 0) + 1
            total = total + v * v
        return total

    return f


@hostile(1.3)
def lru_cached_rule():
    @functools.lru_cache
    def g(x):
        return x**3

    ruled(g, lambda b, x: 3 * x * x * b)
    return lambda x: g(x) * g(x * 1.0)


@hostile(V)
def ravelled_result_written():
    g = ruled(lambda x: np.stack([x, x * x]), lambda b, x: b[0] + 2 * x * b[1])

    def f(x):
        y = g(x)
        flat = y.ravel()
        flat[:3] *= 2
        return np.sum(y[0] * y[1])

    return f
