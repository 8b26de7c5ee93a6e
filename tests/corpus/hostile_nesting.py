"""Programs on gradients inside rules and derivatives, and on what pullbacks close over: right or refused."""

# ruff: noqa (each is as short as it can be written)

from __future__ import annotations

import array
import functools
import types
from collections import OrderedDict, namedtuple

import numpy as np
from hostile_table import Hostiles

import wengert as wg

hostile = Hostiles()

V = np.array([0.7, -1.2, 2.0])
K = 2.0
MODULE = types.ModuleType("a_module")
MODULE.k = 2.0


def scale():
    return K


@hostile(V, 4 * V)
def pullback_closes_over_an_array_array():
    w = array.array("d", [2.0])

    def g(x):
        return 2.0 * x * x

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar * 2 * w[0] * x

    def f(x):
        w[0] = 2.0
        y = g(x)
        w[0] = 7.0
        return np.sum(y)

    return f


@hostile(V, 4 * V)
def pullback_closes_over_a_bytearray():
    w = bytearray([2])

    def g(x):
        return 2.0 * x * x

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar * 2 * w[0] * x

    def f(x):
        w[0] = 2
        y = g(x)
        w[0] = 7
        return np.sum(y)

    return f


@hostile(V, 4 * V)
def pullback_closes_over_a_bytearray_that_grows():
    w = bytearray([2])

    def g(x):
        return 2.0 * x * x

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar * 2 * w[-1] * x

    def f(x):
        w[:] = [2]
        y = g(x)
        w.append(9)
        return np.sum(y)

    return f


@hostile(V, 4 * V)
def pullback_reads_a_memoryview():
    w = bytearray([2])
    view = memoryview(w)

    def g(x):
        return 2.0 * x * x

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar * 2 * view[0] * x

    def f(x):
        w[0] = 2
        y = g(x)
        w[0] = 7
        return np.sum(y)

    return f


@hostile(V, 4 * V)
def pullback_reads_an_ordered_dictionary():
    w = OrderedDict(k=2.0)

    def g(x):
        return w["k"] * x * x

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar * 2 * next(iter(w.values())) * x

    def f(x):
        w.clear()
        w["k"] = 2.0
        y = g(x)
        w["a"] = 7.0
        w.move_to_end("a", last=False)
        return np.sum(y)

    return f


@hostile(1.3)
def body_takes_a_gradient_of_another_rule():
    def h(x):
        return x**3

    @wg.rrule(h)
    def h_rule(x):
        return h(x), lambda y_bar: y_bar * 3 * x * x

    def g(x):
        return 3 * x * x

    @wg.rrule(g)
    def g_rule(x):
        slope = wg.grad(h)(x)
        return slope, lambda y_bar: y_bar * wg.grad(wg.grad(h))(x)

    return lambda x: g(x) * x


@hostile(1.3)
def gradient_of_a_gradient_of_a_body_with_a_gradient():
    def h(x):
        return np.sin(x)

    def g(x):
        return np.cos(x)

    @wg.rrule(g)
    def g_rule(x):
        return wg.grad(h)(x), lambda y_bar: y_bar * wg.grad(wg.grad(h))(x)

    return lambda x: wg.grad(lambda z: g(z) * z)(x) * x


@hostile(V)
def body_gives_a_vjp():
    def g(x):
        return x * np.sin(x)

    @wg.rrule(g)
    def rule(x):
        return wg.vjp(lambda x: x * np.sin(x), x)

    return lambda x: np.sum(g(x) * wg.grad(lambda z: np.sum(g(z)))(x))


@hostile(V)
def pullback_of_vjp_called_twice_in_a_derivative():
    def f(x):
        _, back = wg.vjp(lambda x: x**3, x)
        return np.sum(back(x)[0] * back(x * x)[0])

    return f


@hostile(1.1)
def checkpoint_inside_a_pullback():
    def g(x):
        return x**4

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar * wg.grad(wg.checkpoint(lambda z: z * z * z * z))(x)

    return lambda x: g(x) * wg.grad(g)(x)


@hostile(1.1)
def tape_played_inside_a_pullback():
    def g(x):
        return x**4

    tape = wg.gradtape(lambda z: z**4, 0.5)

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: y_bar * tape.play(x)[1][1]

    return lambda x: g(x) * wg.grad(g)(x)


@hostile(V)
def pullback_is_a_generator_of_gradients():
    def g(x, y):
        return x * y

    @wg.rrule(g)
    def rule(x, y):
        def back(y_bar):
            return tuple(wg.grad(lambda *z: np.sum(y_bar * z[0] * z[1]), argnums=k)(x, y) for k in range(2))

        return g(x, y), back

    return lambda x: np.sum(g(x, np.sin(x)) ** 2)


@hostile(V + 1j)
def complex_gradients_inside_a_pullback():
    def g(x):
        return x * x

    @wg.rrule(g)
    def rule(x):
        return g(x), lambda y_bar: wg.vjp(lambda z: z * z, x)[1](np.conj(y_bar))[0].conj()

    return lambda x: np.sum(np.abs(g(x)) ** 2)


@hostile(V)
def pullback_calls_a_pullback_from_another_derivative():
    kept = []

    def inner(z):
        kept.append(wg.vjp(np.sin, z)[1])
        return np.sum(z)

    def f(x):
        wg.grad(inner)(x)
        return np.sum(kept[-1](x * x)[0])

    return f


@hostile(V)
def pullback_kept_by_an_exception():
    def f(x):
        def inner(z):
            raise KeyError(wg.vjp(lambda u: u**3 * x, z)[1])

        try:
            wg.grad(inner)(x)
        except KeyError as error:
            back = error.args[0]
        return np.sum(back(x)[0])

    return f


@hostile(1.2)
def gradient_in_a_property_of_the_result():
    class R:
        def __init__(self, x):
            self.x = x

        @property
        def slope(self):
            return wg.grad(lambda z: z**3)(self.x)

    def f(x):
        return R(x * 2).slope * x

    return f


@hostile(1.2)
def gradient_taken_by_a_default_of_a_namedtuple():
    P = namedtuple("P", "a b")

    def f(x):
        p = P(wg.grad(lambda z: z**3)(x), wg.value_and_grad(lambda z: z * x)(x))
        return p.a * p.b[0] * p.b[1]

    return f


@hostile(np.float32(1.5), 4 * 1.5**3 * 3)
def float32_in_nested_gradients():
    return lambda x: wg.grad(lambda z: z**3)(x) * x * x


@hostile(np.array(1.2))
def zero_dimensional_in_nested_gradients():
    return lambda x: wg.grad(lambda z: np.sum(z**3))(x) * x


@hostile(V)
def seeds_made_of_the_variable():
    return lambda x: np.sum(wg.grad(lambda z: z * z * z, x, seed=x * x)[1][1])


@hostile(V)
def empty_array_beside_in_a_pullback():
    def f(x):
        _, back = wg.vjp(lambda z, e: np.concatenate([z * z, e]), x, np.zeros(0))
        a, b = back(np.sin(x))
        return np.sum(a) + np.sum(b)

    return f


@hostile(V)
def a_pullback_writes_what_it_gave():
    def f(x):
        _, back = wg.vjp(lambda z: z * z, x)
        a = back(x)[0]
        a[0] *= x[1]
        return np.sum(a * back(x)[0])

    return f


@hostile(V)
def the_cotangent_is_written_after_the_call():
    def f(x):
        _, back = wg.vjp(lambda z: z * z, x)
        g = x * 1.0
        a = back(g)[0]
        g[:] = 0.0
        return np.sum(a)

    return f


@hostile(V)
def the_primal_is_written_after_vjp():
    def f(x):
        z = x * 1.0
        y, back = wg.vjp(lambda z: z**3, z)
        z[:] = 5.0
        y[:] = 7.0
        return np.sum(back(x)[0])

    return f


@hostile(V)
def a_function_writes_its_argument_inside_grad():
    def inner(z):
        z[0] = z[1] * z[2]
        return np.sum(z**3)

    return lambda x: np.sum(wg.grad(inner)(x * 1.0) * x)


@hostile(1.5)
def memoryview_of_a_part():
    def f(x):
        buf = np.zeros(4)
        view = memoryview(buf[1:3])
        buf[2] = x
        return view[1] * 2

    return f


@hostile(1.5)
def memoryview_made_in_a_helper():
    @functools.lru_cache
    def view(n):
        buf = np.zeros(n)
        return buf, memoryview(buf)

    def f(x):
        buf, mv = view(3)
        buf[0] = x
        return float(mv[0]) * 2 + buf[0]

    return f


@hostile(1.5)
def cast_memoryview():
    def f(x):
        buf = np.zeros(3)
        mv = memoryview(buf).cast("B").cast("d")
        buf[:] = x
        return mv[2] * 3

    return f


@hostile(1.5)
def numpy_over_a_bytearray():
    def f(x):
        raw = bytearray(16)
        a = np.frombuffer(raw)
        b = np.frombuffer(raw)
        a[0] = x
        return b[0] * 2

    return f


@hostile(1.5)
def numpy_over_an_array_array():
    def f(x):
        raw = array.array("d", [0.0, 0.0])
        a = np.asarray(raw)
        a[0] = x
        return raw[0] * 2

    return f


@hostile(V)
def iterator_over_memory_that_is_written():
    def f(x):
        buf = np.zeros(3)
        it = iter(memoryview(buf))
        buf[:] = x * x
        return sum(it)

    return f


@hostile(V)
def array_interface_of_an_object():
    class Shows:
        def __init__(self, a):
            self.__array_interface__ = a.__array_interface__
            self.a = a

    def f(x):
        buf = np.zeros(3)
        other = np.asarray(Shows(buf))
        buf[:] = x * x
        return np.sum(other)

    return f


@hostile(V)
def dlpack_of_a_buffer():
    def f(x):
        buf = np.zeros(3)
        other = np.from_dlpack(buf)
        buf[:] = x * x
        return np.sum(other)

    return f


@hostile(V)
def ctypes_number_of_a_buffer():
    def f(x):
        buf = np.zeros(3)
        pointer = np.ctypeslib.as_ctypes(buf)
        buf[:] = x * x
        return pointer[0] + pointer[1]

    return f


@hostile(V)
def flatiter_made_before():
    def f(x):
        buf = np.zeros(3)
        flat = buf.flat
        buf[:] = x * x
        return flat[1] * 2 + sum(flat)

    return f


@hostile(V)
def nditer_over_what_is_written():
    def f(x):
        buf = np.zeros(3)
        it = np.nditer(buf)
        buf[:] = x * x
        return sum(float(v) for v in it)

    return f


@hostile(V, 16 * V**3)
def pullback_reads_a_global_number():
    global K
    K = 2.0

    def g(x):
        return 2.0 * x * x

    @wg.vjp_rule(g)
    def rule(y_bar, y, x):
        return y_bar * 2 * K * x

    def f(x):
        global K
        y = g(x)
        K = 7.0
        return np.sum(y * y)

    return f


@hostile(V, 16 * V**3)
def partials_read_a_global_number():
    global K
    K = 2.0

    def g(x):
        return 2.0 * x * x

    @wg.partials(g)
    def rule(y, x):
        return 2 * K * x

    def f(x):
        global K
        y = g(x)
        K = 7.0
        return np.sum(y * y)

    return f


@hostile(0.8, 16 * 0.8**3)
def partials_read_a_global_number_of_a_float():
    global K
    K = 2.0

    def g(x):
        return 2.0 * x * x

    @wg.partials(g)
    def rule(y, x):
        return 2 * K * x

    def f(x):
        global K
        y = g(x)
        K = 7.0
        return y * y

    return f


@hostile(V, 16 * V**3)
def pullback_reads_a_cell():
    k = 2.0

    def g(x):
        return 2.0 * x * x

    @wg.vjp_rule(g)
    def rule(y_bar, y, x):
        return y_bar * 2 * k * x

    def f(x):
        nonlocal k
        k = 2.0
        y = g(x)
        k = 7.0
        return np.sum(y * y)

    return f


@hostile(V, 16 * V**3)
def pullback_reads_an_attribute_of_a_class():
    class Own:
        k = 2.0

    def g(x):
        return 2.0 * x * x

    @wg.vjp_rule(g)
    def rule(y_bar, y, x):
        return y_bar * 2 * Own.k * x

    def f(x):
        Own.k = 2.0
        y = g(x)
        Own.k = 7.0
        return np.sum(y * y)

    return f


@hostile(V, 16 * V**3)
def pullback_reads_an_attribute_of_an_object():
    own = types.SimpleNamespace(k=2.0)

    def g(x):
        return 2.0 * x * x

    @wg.vjp_rule(g)
    def rule(y_bar, y, x):
        return y_bar * 2 * own.k * x

    def f(x):
        own.k = 2.0
        y = g(x)
        own.k = 7.0
        return np.sum(y * y)

    return f


@hostile(V, 16 * V**3)
def partials_read_a_dictionary():
    own = {"k": 2.0}

    def g(x):
        return 2.0 * x * x

    @wg.partials(g)
    def rule(y, x):
        return 2 * own["k"] * x

    def f(x):
        own["k"] = 2.0
        y = g(x)
        own["k"] = 7.0
        return np.sum(y * y)

    return f


@hostile(V, 16 * V**3)
def partials_read_a_module():
    def g(x):
        return 2.0 * x * x

    @wg.partials(g)
    def rule(y, x):
        return 2 * MODULE.k * x

    def f(x):
        MODULE.k = 2.0
        y = g(x)
        MODULE.k = 7.0
        return np.sum(y * y)

    return f


@hostile(V, 16 * V**3)
def pullback_reads_through_a_helper():
    global K

    def g(x):
        return 2.0 * x * x

    @wg.vjp_rule(g)
    def rule(y_bar, y, x):
        return y_bar * 2 * scale() * x

    def f(x):
        global K
        K = 2.0
        y = g(x)
        K = 7.0
        return np.sum(y * y)

    return f


@hostile(V, 8 * V**3 * np.array([1.0, 2.0, 3.0]) ** 2 / 2)
def partials_read_an_array():
    w = np.array([1.0, 2.0, 3.0])

    def g(x):
        return np.array([1.0, 2.0, 3.0]) * x * x

    @wg.partials(g)
    def rule(y, x):
        return 2 * w * x

    def f(x):
        w[:] = [1.0, 2.0, 3.0]
        y = g(x)
        w[:] = 7.0
        return np.sum(y * y)

    return f


@hostile(V, 8 * V)
def pullback_reads_a_keyword_default():
    w = [4.0]

    def g(x, *, k=None):
        return 4.0 * x * x

    @wg.vjp_rule(g)
    def rule(y_bar, y, x, *, k=w):
        return y_bar * 2 * w[0] * x

    def f(x):
        w[0] = 4.0
        y = g(x)
        w[0] = 1.0
        return np.sum(y)

    return f


@hostile(V, 48 * V**2)
def pullback_reads_a_cell_in_a_second_derivative():
    own = types.SimpleNamespace(k=2.0)

    def g(x):
        return 2.0 * x * x

    @wg.vjp_rule(g)
    def rule(y_bar, y, x):
        return y_bar * 2 * own.k * x

    def inner(x):
        own.k = 2.0
        y = g(x)
        own.k = 7.0
        return np.sum(y * y)

    return lambda x: np.sum(wg.grad(inner)(x))


@hostile(V, 16 * V**3)
def pullback_reads_a_cell_in_a_vjp_called_later():
    own = types.SimpleNamespace(k=2.0)

    def g(x):
        return 2.0 * x * x

    @wg.vjp_rule(g)
    def rule(y_bar, y, x):
        return y_bar * 2 * own.k * x

    total = lambda x: np.sum(g(x) ** 2)

    @wg.rrule(total)
    def total_rule(x):
        own.k = 2.0
        y, back = wg.vjp(lambda x: np.sum(g(x) ** 2), x)
        own.k = 9.0
        return y, back

    def f(x):
        own.k = 2.0
        return total(x)

    return f


@hostile(V, 4 * V)
def pullback_form_reads_an_array_array():
    w = array.array("d", [2.0])

    def g(x):
        return 2.0 * x * x

    @wg.vjp_rule(g)
    def rule(y_bar, y, x):
        return y_bar * 2 * w[0] * x

    def f(x):
        w[0] = 2.0
        y = g(x)
        w[0] = 7.0
        return np.sum(y)

    return f
