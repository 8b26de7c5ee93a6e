"""Programs with rules that return, keep and write what a rule may: right or refused."""

# ruff: noqa (each is as short as it can be written)

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import types
from collections import OrderedDict, defaultdict, deque, namedtuple

import numpy as np
from hostile_table import Hostiles

import wengert as wg

hostile = Hostiles()

V = np.array([0.7, -1.2, 2.0])

# -- results of all structures


@hostile(1.3)
def result_tuple_in_list():
    def g(x):
        return [(x * 2, x * x), x * 3]

    @wg.rrule(g)
    def rule(x):
        def back(y_bar):
            (a, b), c = y_bar
            return 2 * a + 2 * x * b + 3 * c

        return g(x), back

    def f(x):
        (a, b), c = g(x)
        return a * b * c

    return f


@hostile(V)
def result_dict_one_key_read():
    def g(x):
        return {"twice": 2 * x, "square": x * x}

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: (y_bar["twice"] * 2 if y_bar["twice"] is not None else 0) + y_bar["square"] * 2 * x

    return lambda x: np.sum(g(x)["square"] * g(x)["twice"])


@hostile(0.8)
def result_dataclass():
    @dataclasses.dataclass
    class Fit:
        slope: float
        steps: int
        log: list

    def g(x):
        return Fit(x * 3, 7, [x * x])

    @wg.rrule(g)
    def rule(x):
        def back(y_bar):
            return y_bar.slope * 3 + y_bar.log[0] * 2 * x

        return g(x), back

    def f(x):
        fit = g(x)
        return fit.slope * fit.log[0] * fit.steps

    return f


@hostile(0.8)
def result_namedtuple_holds_list():
    R = namedtuple("R", "a rest")

    def g(x):
        return R(math.sin(x), [x, x * x])

    @wg.rrule(g)
    def rule(x):
        def back(y_bar):
            return math.cos(x) * y_bar.a + y_bar.rest[0] + 2 * x * y_bar.rest[1]

        return g(x), back

    return lambda x: g(x).a * g(x).rest[1] + g(x).rest[0]


@hostile(0.8)
def result_is_a_class_instance_made_by_new():
    class State:
        __slots__ = ("x", "v")

    def g(x):
        s = State.__new__(State)
        s.x, s.v = 2 * x, 5 * x
        return s

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: 2 * y_bar.x + 5 * y_bar.v

    def f(x):
        s = g(x)
        return s.x * s.v

    return f


@hostile(0.8)
def rule_of_a_class():
    class Vector:
        def __init__(self, x):
            self.a = x * x
            self.b = math.exp(x)

    @wg.rrule(Vector)
    def rule(x):
        return Vector(x), lambda y_bar: 2 * x * y_bar.a + math.exp(x) * y_bar.b

    def f(x):
        v = Vector(x)
        return v.a * v.b

    return f


@hostile(1.1)
def result_generator():
    def g(x):
        return (x * k for k in range(3))

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: 3 * y_bar

    return lambda x: sum(g(x))


@hostile(1.1)
def result_function():
    def g(x):
        return lambda t: x * t

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: 0.0

    return lambda x: g(x)(3.0)


@hostile(1.1)
def result_deque_and_ordered():
    def g(x):
        return OrderedDict(a=deque([x, 2 * x]))

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar["a"][0] + 2 * y_bar["a"][1]

    return lambda x: g(x)["a"][0] * g(x)["a"][1]


@hostile(1.1)
def result_object_array():
    def g(x):
        return np.array([x, 2 * x], dtype=object)

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar[0] + 2 * y_bar[1]

    return lambda x: g(x)[0] * g(x)[1]


@hostile(V)
def result_list_changed_after():
    def g(x):
        return [x * 2, x * 3]

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: 2 * y_bar[0] + 3 * y_bar[1]

    def f(x):
        parts = g(x)
        parts[0] = parts[0] * parts[1]
        parts.append(x)
        parts[1] *= 5.0
        return np.sum(parts[0] + parts[1] * parts[2])

    return f


@hostile(1.1)
def result_same_number_twice_in_a_list():
    def g(x):
        y = x * 2
        return [y, y, [y]]

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: 2 * (y_bar[0] + y_bar[1] + y_bar[2][0])

    def f(x):
        a, b, (c,) = g(x)
        return a * 3 + b * 5 + c * 7

    return f


@hostile(1.1)
def result_list_holds_the_argument():
    def g(x):
        return [x, 2.0]

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: 10 * y_bar[0] / 10

    def f(x):
        y, two = g(x)
        return y * x * two

    return f


@hostile(V)
def result_nested_dict_of_views():
    def g(x):
        return {"a": {"first": x[:1], "rest": x[1:]}}

    @wg.rrule(g)
    def rule(x):
        def back(y_bar):
            return np.concatenate([y_bar["a"]["first"], y_bar["a"]["rest"]])

        return g(x), back

    def f(x):
        parts = g(x * x)["a"]
        return parts["first"][0] * np.sum(parts["rest"])

    return f


# -- results that exist already


@hostile(2.0, expected=1.0)
def straight_through_constant():
    ONE = 1.0

    def step(x):
        return ONE if x > 0 else 0.0

    @wg.rrule(step)
    def rule(x):
        return step(x), lambda y_bar: y_bar

    return lambda x: step(x) + ONE


@hostile(2.0, expected=7.0)
def straight_through_small_table():
    table = [0.0, 3.0]

    def pick(x):
        return table[1]

    @wg.rrule(pick)
    def rule(x):
        return pick(x), lambda y_bar: y_bar

    return lambda x: pick(x) * 4 + pick(x) * 3 + table[1]


@hostile(V, expected=-np.ones(3))
def reversal_written_through():
    def rev(x):
        return x

    @wg.rrule(rev)
    def rule(x):
        return x, lambda y_bar: -y_bar

    def f(x):
        y = np.empty(3)
        y[:] = rev(x)
        return np.sum(y)

    return f


@hostile(V, expected=-4 * V)
def reversal_of_a_view():
    def rev(x):
        return x

    @wg.rrule(rev)
    def rule(x):
        return x, lambda y_bar: -y_bar

    def f(x):
        y = x * x
        return np.sum(rev(y[:]) + rev(y))

    return f


@hostile(V)
def workspace_reused():
    space = np.empty(3)

    def g(x):
        np.multiply(x, x, out=space)
        return space

    @wg.rrule(g)
    def rule(x):
        value = g(x)
        return value, lambda y_bar: 2 * x * y_bar

    def f(x):
        a = np.sum(g(x) * 2.0)
        b = np.sum(g(3 * x) * x)
        return a * b

    return f


@hostile(V)
def cached_result_object():
    cache = {}

    def g(x):
        key = x.tobytes()
        if key not in cache:
            cache[key] = np.sin(x)
        return cache[key]

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: np.cos(x) * y_bar

    return lambda x: np.sum(g(x) * g(x) + g(2 * x))


@hostile(3.0)
def integers_of_the_small_cache():
    def g(x):
        return float(1) if x > 5 else x

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar

    return lambda x: g(x) * +x - (+g(x))


@hostile(1.5)
def unary_plus_chain_in_checkpoint():
    def block(x):
        y = +x
        z = +y
        return +(y * z)

    return lambda x: wg.checkpoint(block)(x) * +wg.checkpoint(block)(+x)


@hostile(V)
def methods_that_return_self():
    def f(x):
        y = x.real.conj().conjugate()
        z = np.asarray(np.asanyarray(y))
        return np.sum(z * np.real(x) * np.positive(y) + np.ascontiguousarray(z)[::-1])

    return f


@hostile(0.3)
def float_of_float_and_builtins_that_return_their_argument():
    return lambda x: float(x) * max(float(x), 0.1) * abs(x) * sum([x]) * math.fabs(float(+x))


@hostile(np.float64(0.3))
def numpy_scalar_identities():
    return lambda x: np.float64(x) * x[()] * np.real(x) * x.conjugate() * x.item()


# -- rule bodies that act


@hostile(V)
def body_with_inner_function_that_writes():
    from wengert.extend import vjp_rule

    def g(x, y):
        return 2 * x * y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        out = np.zeros((2, 3))

        def put(k):
            out[0, k] = 2 * b[k] * y_bar[k]
            out[1, k] = 2 * a[k] * y_bar[k]

        for k in range(3):
            put(k)
        return out[0], out[1]

    return lambda x: np.sum(g(x, x) * g(V, x))


@hostile(V)
def body_with_iterator_and_pop():
    from wengert.extend import vjp_rule

    def g(x, y):
        return x * y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        stack = [b * y_bar, a * y_bar]
        it = iter([1, 2])
        next(it)
        second = stack.pop()
        first = stack.pop()
        scale = 1.0 if next(it) == 2 else 100.0
        return first * scale, second * scale

    return lambda x: np.sum(g(x, 2 * x) * g(x, V))


@hostile(V)
def body_with_out_and_views():
    from wengert.extend import vjp_rule

    def g(x, y):
        return x + y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        both = np.zeros((2, 3))
        top, bottom = both
        np.add(y_bar, 0.0, out=top)
        bottom += y_bar
        return both[0], both[1]

    return lambda x: np.sum(g(x, 2 * x) * g(V, x))


@hostile(V)
def body_that_deletes_and_walruses():
    from wengert.extend import vjp_rule

    def g(x, y):
        return x * y * y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        left = [(part := b * y_bar) * b, part]
        part = 2 * a * left[1]
        del left[1]
        return left[0], part

    return lambda x: np.sum(g(x, x)) + np.sum(g(V, x))


@hostile(V)
def body_with_try_and_global():
    from wengert.extend import vjp_rule

    seen = {}

    def g(x, y):
        return x * y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        try:
            scale = seen["scale"]
        except KeyError:
            scale = seen["scale"] = 1.0
        seen["calls"] = seen.get("calls", 0) + 1
        return b * y_bar * scale, a * y_bar * seen["scale"]

    return lambda x: np.sum(g(x, V)) + np.sum(g(V, x) * x)


@hostile(V)
def body_with_setattr_and_setitem():
    from wengert.extend import vjp_rule

    class Box:
        pass

    def g(x, y):
        return x - y

    @vjp_rule(g)
    def rule(y_bar, y, a, b):
        box = Box()
        setattr(box, "bar", y_bar)
        held = [None, None]
        held.__setitem__(0, box.bar)
        operator.setitem(held, 1, -box.bar)
        return held[0], held[1]

    return lambda x: np.sum(g(x * x, V) * g(V, x))


@hostile(V)
def body_that_reads_its_parameter_by_locals():
    from wengert.extend import vjp_rule

    def g(x):
        return x**3

    @vjp_rule(g)
    def rule(y_bar, y, x):
        return 3 * locals()["x"] ** 2 * y_bar

    def f(x):
        y = x * 1.0
        z = np.sum(g(y))
        y[:] = 100.0
        return z

    return f


# -- derivatives inside pullbacks


@hostile(2.0)
def implicit_root_by_grad_inside():
    def residual(y, a):
        return y**3 + y - a

    def solve(a):
        y = a
        for _ in range(60):
            y = y - residual(y, a) / (3 * y * y + 1)
        return y

    @wg.rrule(solve)
    def rule(a):
        y = solve(a)

        def back(y_bar):
            dy, da = wg.grad(residual, argnums=(0, 1))(y, a)
            return -y_bar * da / dy

        return y, back

    return lambda a: solve(a) ** 2 * solve(2 * a)


@hostile(V)
def implicit_vector_by_vjp_inside():
    A = np.diag([4.0, 5.0, 6.0]) + 0.3

    def residual(y, b):
        return A @ y + 0.1 * y**3 - b

    def solve(b):
        y = np.zeros(3)
        for _ in range(60):
            y = y - np.linalg.solve(A + np.diag(0.3 * y**2), residual(y, b))
        return y

    @wg.rrule(solve)
    def rule(b):
        y = solve(b)

        def back(y_bar):
            jac = np.array([wg.vjp(lambda t: residual(t, b), y)[1](e)[0] for e in np.eye(3)])
            w = np.linalg.solve(jac.T, y_bar)
            return wg.vjp(lambda c: residual(y, c), b)[1](-w)[0]

        return y, back

    return lambda b: np.sum(np.sin(solve(b * b)))


@hostile(1.2)
def derivative_inside_pullback_inside_derivative():
    def inner(x):
        return x**4

    def g(x):
        return inner(x)

    @wg.rrule(g)
    def rule(x):
        return inner(x), lambda y_bar: y_bar * wg.grad(inner)(x)

    def f(x):
        return wg.grad(lambda t: g(t) * t)(x) * x

    return f


@hostile(1.2)
def pullback_kept_and_called_twice():
    def f(x):
        y, back = wg.vjp(lambda t: t**3, x)
        (a,) = back(x)
        (b,) = back(2.0 * y)
        return a * b

    return f


@hostile(np.array([0.5, 1.5]))
def complex_cotangents_inside():
    def f(x):
        z = x[0] + 1j * x[1]
        _, back = wg.vjp(lambda t: t * t * (1 + 2j), 0.3 + 0.4j)
        (bar,) = back(z)
        return bar.real * 2 + bar.imag**2

    return f


@hostile(1.4)
def results_that_are_one_value():
    def f(x):
        _, back = wg.vjp(lambda t: (lambda y: (y, y, [y]))(t * t), x)
        (bar,) = back((x, x**2, [x**3]))
        return bar

    return f


@hostile(np.array([0.3, 0.9]))
def list_cotangent_given_as_array():
    def f(x):
        _, back = wg.vjp(lambda t: [t * 2, t * t], 1.5)
        (bar,) = back([x[0], x[1]])
        return bar

    return f


@hostile(0.9)
def traced_seed():
    def f(x):
        _, gradients = wg.grad(lambda t: t * t, np.array([1.0, 2.0])[:1], seed=np.array([x]))
        return np.sum(gradients[1]) * x

    return f


@hostile(0.9)
def three_levels_through_a_rule():
    def g(x):
        return math.exp(x)

    @wg.rrule(g)
    def rule(x):
        y = g(x)
        return y, lambda y_bar: y_bar * y

    return lambda x: wg.grad(lambda y: wg.grad(lambda z: g(z * y) * x)(y))(x)


@hostile(1.0)
def pullback_made_outside_the_trace():
    _, back = wg.vjp(lambda t: np.sin(t), 0.4)
    return lambda x: back(x)[0]


@hostile(1.0)
def pullback_leaves_its_trace():
    kept = []

    def first(x):
        kept.append(wg.vjp(lambda t: t * t * x, x)[1])
        return x

    wg.grad(first)(3.0)
    return lambda x: kept[0](x)[0]


@hostile(1.0)
def gradient_function_made_in_another_trace():
    kept = []

    def first(x):
        y = x * x
        kept.append(lambda t: t * y)
        return y

    wg.grad(first)(3.0)
    return lambda x: wg.grad(kept[0])(x) * x


# -- memory of rules


@hostile(V)
def argument_written_after_the_rule():
    def g(x):
        return x**2

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: 2 * x * y_bar

    def f(x):
        y = x * 1.0
        z = g(y)
        y *= 0.0
        return np.sum(z)

    return f


@hostile(V)
def result_written_after_the_rule():
    def g(x):
        return np.exp(x)

    @wg.rrule(g)
    def rule(x):
        y = g(x)
        return y, lambda y_bar: y * y_bar

    def f(x):
        y = g(x)
        z = np.sum(y * y)
        y += 100.0
        return z + np.sum(y)

    return f


@hostile(V)
def workspace_that_the_pullback_closes_over():
    class Solver:
        def __init__(self):
            self.store = {"last": [np.zeros(3)]}

        def run(self, x):
            self.store["last"][0][:] = x
            return np.sin(x)

    solver = Solver()

    def g(x):
        return solver.run(x)

    @wg.rrule(g)
    def rule(x):
        y = g(x)
        return y, lambda y_bar: np.cos(solver.store["last"][0]) * y_bar

    return lambda x: np.sum(g(x)) + np.sum(g(2 * x))


@hostile(V)
def view_of_the_argument_written_after():
    def g(x):
        return x**2

    @wg.rrule(g)
    def rule(x):
        head = x[:2]
        return g(x), lambda y_bar: np.concatenate([2 * head * y_bar[:2], 2 * x[2:] * y_bar[2:]])

    def f(x):
        base = np.zeros(6)
        base[1:4] = x
        z = g(base[1:4])
        base[:] = 9.0
        return np.sum(z)

    return f


@hostile(V)
def vjp_arguments_written_later():
    def f(x):
        y = x * 1.0
        factor = np.ones(3) * 2
        z, back = wg.vjp(lambda t: t * t * factor, y)
        y[:] = 5.0
        factor[:] = 7.0
        z[:] = 0.0
        return np.sum(back(x)[0])

    return f


@hostile(V)
def partial_and_bound_method_as_pullback():
    class Back:
        def __init__(self, x):
            self.x = x

        def pull(self, y_bar):
            return 2 * self.x * y_bar

    def g(x):
        return x**2

    def h(x):
        return x**2

    @wg.rrule(g)
    def rule(x):
        return g(x), Back(x).pull

    @wg.rrule(h)
    def rule_h(x):
        return h(x), functools.partial(lambda x, y_bar: 2 * x * y_bar, x)

    def f(x):
        y = 1.0 * x
        z = np.sum(g(y) * h(y))
        y.fill(3.0)
        return z

    return f


@hostile(V)
def object_argument_changed_after():
    class Model:
        def __init__(self, w):
            self.w = w

    def g(model, t):
        return np.sum(model.w**2) * t

    @wg.rrule(g)
    def rule(model, t):
        return g(model, t), lambda y_bar: (
            wg.extend.Tangent(Model, w=2 * model.w * t * y_bar),
            np.sum(model.w**2) * y_bar,
        )

    def f(x):
        model = Model(x * 1.0)
        z = g(model, x[0])
        model.w = model.w * 0.0
        return z

    return f


# -- pullbacks that write


@hostile(V)
def pullback_scales_its_cotangent():
    def g(x):
        return 2 * x

    @wg.rrule(g)
    def rule(x):
        def back(y_bar):
            y_bar *= 2
            return y_bar

        return g(x), back

    def f(x):
        y = x * x
        return np.sum(g(y) + y)

    return f


@hostile(V)
def pullback_clears_a_part():
    def g(x):
        y = np.zeros(3)
        y[1:] = x[1:]
        return y

    @wg.rrule(g)
    def rule(x):
        def back(y_bar):
            np.copyto(y_bar[:1], 0.0)
            return y_bar

        return g(x), back

    return lambda x: np.sum((g(x) + x) * V)


@hostile(V)
def pullback_sorts_its_list():
    def g(x):
        return [x * 2, x * 5]

    @wg.rrule(g)
    def rule(x):
        def back(y_bar):
            bars = list(y_bar)
            bars[0] += 0
            return 2 * bars[0] + 5 * bars[1]

        return g(x), back

    def f(x):
        a, b = g(x)
        return np.sum(a * b + a)

    return f


# -- numbers and declarations


@hostile(V, expected=V)
def non_differentiable_list_is_constant():
    @wg.non_differentiable
    def keep(x):
        return [x, (x, {"x": x})]

    def f(x):
        inner = keep(x)[1][1]["x"]
        return np.sum(x * inner)

    return f


@hostile(1.5)
def function_with_attributes_as_argument_of_a_rule():
    def g(h, x):
        return h(x) * h.scale

    @wg.rrule(g)
    def rule(h, x):
        return g(h, x), lambda y_bar: (None, 2 * x * h.scale * y_bar)

    def f(x):
        def square(t):
            return t * t

        square.scale = x
        return g(square, x)

    return f


@hostile(V)
def function_that_writes_its_argument():
    def g(x):
        x += 1.0
        return np.sum(x * x)

    @wg.rrule(g)
    def rule(x):
        x0 = x + 1.0
        return g(x), lambda y_bar: 2 * x0 * y_bar

    def f(x):
        y = x * 1.0
        return g(y) + np.sum(y)

    return f


@hostile(1.5)
def rule_of_a_function_without_module():
    g = types.FunctionType((lambda x: x * x).__code__, {}, "g")
    g.__module__ = None

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: 2 * x * y_bar

    return lambda x: g(x) * x
