"""Right or refused: code that cannot be seen into gives the right gradient or an error at the user's line, never a zero."""

# ruff: noqa (each case is a line as a user would write it)

from __future__ import annotations

import array
import copy
import ctypes
import decimal
import fractions
import functools
import io
import itertools
import json
import math
import operator
import pickle
import random
import statistics
import struct
import threading
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg.blas
import scipy.special

import wengert as wg

CASES: dict[str, tuple[Any, Any]] = {}


def case(f: Any) -> Any:
    CASES[f.__name__] = f, np.array([0.5, 1.25, 2.0])
    return f


def scalar_case(f: Any) -> Any:
    CASES[f.__name__] = f, 1.25
    return f


class WithFloat:
    def __init__(self, v):
        self.v = v

    def __float__(self):
        return float(self.v * 2)


class Holder:
    def __init__(self, v):
        self.v = v


@case
def tolist(x):
    return math.fsum(x.tolist())


@case
def hint_of_the_length_of_an_iterator(x):
    return x[0] * operator.length_hint(iter(x)) + operator.length_hint(x)


@case
def through_json(x):
    return sum(json.loads(json.dumps(list(x))))


@scalar_case
def parsed_text(x):
    return float(str(x)) * x


@scalar_case
def parsed_repr_of_a_slice(x):
    return float(repr(x)[:3]) * 2


@scalar_case
def parsed_format(x):
    return float(f"{x:.3f}") + float("{}".format(x)) + float("%r" % x)


@scalar_case
def parsed_split(x):
    return float(("a " + str(x)).split()[1])


@scalar_case
def float_of_an_object(x):
    return float(WithFloat(x)) + math.sqrt(WithFloat(x).v)


@scalar_case
def math_on_an_object(x):
    return math.sqrt(WithFloat(x))


@case
def items(x):
    return x.item(0) * x[1].item()


@scalar_case
def integer_ratio(x):
    a, b = x.as_integer_ratio()
    return a / b


@scalar_case
def hexadecimal(x):
    return float.fromhex(x.hex())


@scalar_case
def struct_packed(x):
    return struct.unpack("d", struct.pack("d", x))[0]


@scalar_case
def ctypes_double(x):
    return ctypes.c_double(x).value


@scalar_case
def ctypes_attribute(x):
    c = ctypes.c_double()
    c.value = x
    return c.value


@scalar_case
def pickled(x):
    return pickle.loads(pickle.dumps(x))


@scalar_case
def decimals(x):
    return float(decimal.Decimal(x) * 2)


@scalar_case
def rationals(x):
    return float(fractions.Fraction(x))


@scalar_case
def hidden_in_a_list(x):
    return float(json.encoder.encode_basestring_ascii and struct.pack(*["d", x])[0])


@scalar_case
def hidden_in_a_dict(x):
    return len(pickle.dumps({"a": [x]})) * 1.0 + x


@scalar_case
def hidden_in_a_closure(x):
    def f(*_):
        return x * 2

    return np.frompyfunc(f, 1, 1)(1.0)


@scalar_case
def hidden_in_an_attribute(x):
    return len(pickle.dumps(Holder(x))) * 1.0 + x


@scalar_case
def hidden_in_a_generator(x):
    return np.fromiter((x * k for k in range(3)), float).sum()


@scalar_case
def hidden_in_a_map(x):
    return array.array("d", map(lambda k: x * k, [1.0, 2.0]))[1]


@scalar_case
def array_module(x):
    a = array.array("d", [0.0])
    a[0] = x
    return a[0]


@case
def memory_view(x):
    return memoryview(x)[0] * 2


@case
def buffers(x):
    return np.frombuffer(x.data, dtype=float).sum()


@case
def raw_bytes(x):
    return np.frombuffer(x.tobytes()).sum()


@case
def interface(x):
    return float(x.__array_interface__["data"][0] * 0) + x[0]


@case
def flat_iterator(x):
    return sum(x.flat)


@case
def n_d_iterator(x):
    return sum(float(v) for v in np.nditer(x))


@scalar_case
def evaluated(x):
    return eval("x * x + math.sin(x)")


@scalar_case
def executed(x):
    space = {"x": x}
    exec("y = x ** 3\ndef f(v): return v * y", space)
    return space["f"](x)


@scalar_case
def evaluated_text(x):
    return eval(repr(x)) * 2


@scalar_case
def without_a_rule(x):
    return scipy.special.ellip_harm(5.0, 8.0, 1, 1, x)


@scalar_case
def object_array(x):
    return np.array([x, None], dtype=object)[0] * 2


@scalar_case
def object_store(x):
    a = np.empty(2, dtype=object)
    a[0] = x
    return a[0] * 2


@scalar_case
def integer_store(x):
    a = np.zeros(2, dtype=int)
    a[0] = x
    return float(a.sum())


@scalar_case
def key_of_a_dict(x):
    d = {x: 2.0, "y": x}
    return d[x] * d["y"] + (hash(x) == hash(x * 1.0)) * x


@case
def copies(x):
    items = [x[0], [x[1], x]]
    shallow, deep = copy.copy(items), copy.deepcopy(items)
    return shallow[0] * deep[1][0] + deep[1][1].sum() + copy.copy(x).sum() * copy.deepcopy(x)[2]


@case
def copied_objects(x):
    h = copy.copy(Holder(x))
    return copy.deepcopy(h).v @ h.v


@case
def vectorized(x):
    return np.vectorize(lambda v: v * v)(x).sum()


@case
def from_python_function(x):
    return np.frompyfunc(lambda v: v * v, 1, 1)(x).sum()


@case
def mean_of_statistics(x):
    return statistics.mean(list(x)) + statistics.fmean(list(x))


@scalar_case
def random_gauss(x):
    return random.Random(3).gauss(x, 1.0)


@scalar_case
def random_normal(x):
    return np.random.default_rng(3).normal(x, 1.0)


@scalar_case
def legacy_random_normal(x):
    return np.random.RandomState(3).normal(x, 1.0)


@scalar_case
def started_thread(x):
    out = []
    thread = threading.Thread(target=lambda: out.append(x * 2))
    thread.start()
    thread.join()
    return out[0]


@scalar_case
def generator_from_outside(x):
    return OUTSIDE().send_twice(x)


class OUTSIDE:
    def __init__(self):
        self.g = doubler()
        next(self.g)

    def send_twice(self, x):
        return self.g.send(x) + x


def doubler():
    got = 0.0
    while True:
        got = yield got * 2


@scalar_case
def printed_and_read(x):
    out = io.StringIO()
    out.write(f"{x}")
    return x * (len(out.getvalue()) > 0)


@case
def sorted_in_place(x):
    y = x.copy()
    y.sort()
    return y @ x


@case
def accumulated_at(x):
    y = np.zeros(2)
    np.add.at(y, [0, 1, 0], x)
    return y @ y


@case
def ufunc_methods(x):
    return np.add.reduce(x * x) + np.multiply.outer(x, x).sum() + np.maximum.reduce(x)


@scalar_case
def partial_of_opaque(x):
    return functools.partial(struct.pack, "d")(x)[0] * 1.0


@case
def put_and_place(x):
    y = np.zeros(3)
    np.put(y, [0, 2], x[:2])
    np.place(y, y == 0, x[2:])
    return y.sum()


@scalar_case
def swallowed(x):
    try:
        y = struct.unpack("d", struct.pack("d", x))[0]
    except Exception:
        y = 0.0
    return y + x


@scalar_case
def swallowed_by_anything(x):
    try:
        return scipy.special.ellip_harm(5.0, 8.0, 1, 1, x)
    except:
        pass
    return x


def line_range(f: Any) -> range:
    first = f.__code__.co_firstlineno
    return range(first, first + 12)


@pytest.mark.parametrize("name", CASES)
def test_right_or_refused(name: str) -> None:
    f, x = CASES[name]
    with np.errstate(all="ignore"):
        try:
            value, (_, x_bar) = wg.grad(f, copy.copy(x))
        except wg.WengertError as error:
            assert_names_the_line(f, error)
            return
        assert np.asarray(value).tobytes() == np.asarray(f(copy.copy(x))).tobytes()
        np.testing.assert_allclose(x_bar, wg.ngradient(f, copy.copy(x))[0], rtol=1e-7, atol=1e-8)


def assert_names_the_line(f: Any, error: wg.WengertError) -> None:
    """The message, or the traceback, says where in this file."""
    message, trace, lines = str(error), error.__traceback__, []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == __file__:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    said = [n for n in line_range(f) if f"{__file__}:{n}" in message]
    assert said or set(lines) & set(line_range(f)), message


REFUSED = """through_json parsed_text parsed_repr_of_a_slice parsed_format parsed_split
    integer_ratio hexadecimal struct_packed ctypes_double ctypes_attribute pickled decimals rationals
    hidden_in_a_map array_module memory_view buffers raw_bytes without_a_rule
    integer_store evaluated_text started_thread swallowed
    swallowed_by_anything""".split()
OF_OBJECTS = ["object_array", "object_store", "from_python_function"]
RIGHT = """tolist hidden_in_a_closure hidden_in_a_generator random_normal legacy_random_normal float_of_an_object items evaluated executed key_of_a_dict copies copied_objects random_gauss sorted_in_place accumulated_at
    ufunc_methods vectorized printed_and_read""".split()


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    f, x = CASES[name]
    for run in (wg.grad, wg.trace, wg.vjp):
        with pytest.raises(wg.WengertError):
            run(f, copy.copy(x))


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_a_tape_has_no_arrays_of_objects(name: str) -> None:
    f, x = CASES[name]
    with pytest.raises(wg.WengertError):
        wg.trace(f, x)


@pytest.mark.parametrize("name", RIGHT + OF_OBJECTS)
def test_right(name: str) -> None:
    f, x = CASES[name]
    _, (_, x_bar) = wg.grad(f, copy.copy(x))
    np.testing.assert_allclose(x_bar, wg.ngradient(f, copy.copy(x))[0], rtol=1e-7, atol=1e-8)


def test_the_error_for_a_missing_rule_has_a_stub_that_compiles() -> None:
    with pytest.raises(wg.NoRuleError) as caught:
        wg.grad(without_a_rule, 1.25)
    message = str(caught.value)
    assert (
        "scipy.special.ellip_harm" in message and f"{__file__}:{without_a_rule.__code__.co_firstlineno + 2}" in message
    )
    stub = message[message.index("@wg.rrule") : message.index("If it has no derivative")]
    compile(stub, "stub", "exec")


def test_the_stub_is_for_what_the_user_called_also_by_way_of_a_rule() -> None:
    def f(x: Any) -> Any:
        return scipy.special.ellip_normal(x, 8.0, 1, 1)  # by way of np.vectorize

    with pytest.raises(
        wg.NoRuleError, match=rf"^{__file__}:{f.__code__.co_firstlineno + 1} in .*ellip_normal"
    ) as caught:
        wg.grad(f)(5.0)
    assert "@wg.rrule(scipy.special.ellip_normal)" in str(caught.value)


def test_the_stub_is_for_the_object_that_the_user_called() -> None:
    with pytest.raises(wg.NoRuleError, match=r"@wg\.rrule\(scipy\.special\.legendre_p_all\)"):
        wg.grad(lambda x: scipy.special.legendre_p_all(2, x)[0][1])(0.5)


def test_of_a_function_with_a_rule_nobody_is_told_to_write_one() -> None:
    with pytest.raises(wg.NoRuleError, match=r"where the rule of (np|numpy)\.asarray .* has no derivative"):
        wg.grad(lambda x: np.asarray(WithFloat(x), dtype=float))(0.5)


def test_lists_and_tuples_are_compared_item_by_item() -> None:
    def f(x: float) -> float:
        return x * 2 if [x, 1.0] == [2.0, 1.0] else x

    assert wg.grad(f)(2.0) == 2.0
    value, tape = wg.trace(f, 2.0)
    assert value == tape.play(2.0) == 4.0
    with pytest.raises(wg.StaleTapeError):
        tape.play(1.0)

    def order(x: float) -> float:
        a, b = (1.0, [x, 2.0]), (1.0, [x * x, 1.0])
        return x * ((a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a != b) + 32 * ((x,) < (x, x)))

    for x in (0.5, 2.0):
        value, tape = wg.trace(order, x)
        assert value == order(x) == tape.play(x)


def test_dictionaries_compared_as_wholes() -> None:
    def f(x: float) -> float:
        return x * 2 if {"a": x} == {"a": 2.0} else x

    assert wg.grad(f)(2.0) == 2.0  # nothing is replayed: right as it is
    with pytest.raises(wg.RefusedCallError, match="Compare their items one by one"):
        wg.trace(f, 2.0)


def test_searches_in_lists_are_guarded() -> None:
    def f(x: float) -> float:
        items = [1.0, x, 3.0, x]
        items.remove(3.0)
        return items.index(2.0) * x + items.count(2.0)

    value, tape = wg.trace(f, 2.0)
    assert value == f(2.0) == tape.play(2.0) == 4.0
    with pytest.raises(wg.StaleTapeError):
        tape.play(1.0)
    with pytest.raises(ValueError, match="not in list"):
        wg.trace(lambda x: [x].index(5.0), 2.0)


def test_what_the_interpreter_calls_while_a_class_is_made() -> None:
    class Tripled:
        def __init__(self, value: float) -> None:
            self.value = value

        def __set_name__(self, owner: type, name: str) -> None:
            self.value = self.value * 3

    class Base:
        def __init_subclass__(cls, by: float = 1.0) -> None:
            cls.scaled = cls.tripled.value * by

    def f(x: float) -> float:
        class Holder(Base, by=x):
            tripled = Tripled(x)

        made = type("Made", (Base,), {"tripled": Tripled(x)}, by=2.0)
        return Holder.scaled + made.scaled

    plain = Tripled.__set_name__.__code__, Base.__init_subclass__.__code__
    for run in (lambda: wg.grad(f)(2.0), lambda: wg.trace(wg.grad(f), 2.0)[0]):
        assert run() == 18.0
    assert plain == (Tripled.__set_name__.__code__, Base.__init_subclass__.__code__)


def test_names_set_by_a_partial_are_followed() -> None:
    class Named:
        __set_name__ = functools.partial(lambda *args: None)

        def __init__(self, value: float) -> None:
            self.value = value

    def f(x: float) -> float:
        class Holder:
            named = Named(x)

        return Holder.named.value

    assert wg.grad(f)(2.0) == 1.0


def test_properties_in_class_patterns_are_entered() -> None:
    class Point:
        __match_args__ = ("x", "double")

        def __init__(self, x: float) -> None:
            self.x = x

        @property
        def double(self) -> float:
            return self.x * 2

    def f(x: float) -> float:
        match Point(x):
            case Point(x=1.0):
                return x
            case Point(a, d) if d > a:
                return d * a
        return x

    assert wg.grad(f)(3.0) == 12.0


class Holding:
    """Held by generators that are made before the trace."""

    value: Any = 1.0
    other: Any = 1.0


def of_an_attribute(held: Holding) -> Any:
    while True:
        yield held.value * 3.0


def of_a_list(held: list) -> Any:
    while True:
        yield held[0] * 3.0


def of_a_dictionary(held: dict) -> Any:
    while True:
        yield held[0] * 3.0


STEPS = {
    "next": next,
    "for": lambda made: [a for a, _ in zip(made, [0])][0],
    "send": lambda made: made.send(None),
    "islice": lambda made: sum(itertools.islice(made, 2)),
    "map": lambda made: next(map(abs, made)),
}


@pytest.mark.parametrize("way", STEPS)
@pytest.mark.parametrize(
    "make, held", [(of_an_attribute, Holding), (of_a_list, lambda: [1.0]), (of_a_dictionary, dict)]
)
@pytest.mark.parametrize("x", [1.5, np.array([1.5])], ids=["float", "array"])
def test_a_generator_from_before_that_can_read_traced_numbers_is_refused(
    way: str, make: Any, held: Any, x: Any
) -> None:
    place = held()
    made = make(place)

    def f(x: Any) -> Any:
        value = x if isinstance(x, float) else x[0]
        if isinstance(place, Holding):
            place.value = value
        else:
            place[0] = value
        return STEPS[way](made) * value

    with pytest.raises(wg.RefusedCallError, match=r"test_refusals\.py:.*made before the traced call reads"):
        wg.grad(f)(x)


def test_a_generator_from_before_that_reads_other_attributes_goes_on() -> None:
    place = Holding()
    made = of_an_attribute(place)

    def f(x: float) -> Any:
        place.other = x
        return next(made) * x

    assert wg.grad(f)(1.5) == 3.0


def spline_or_mean(y):
    try:
        return scipy.interpolate.splrep(np.arange(9.0), y, s=0.01)[1][3]
    except ValueError:
        return np.mean(y)


def steps_or_sum(x):
    try:
        return scipy.linalg.blas.dtrsv(np.eye(3), x, incx=3)[0]
    except Exception:
        return np.sum(x)


def root_or_double(x):
    try:
        return wg.implicit(lambda z: x[0] * (z - 1) ** 3, 1.0)
    except ValueError:
        return 2 * x[0]


def given_up(x):
    return 2 * x


@wg.rrule(given_up)
def given_up_rule(x):
    raise wg.NoDerivativeError("no derivative")


def rule_or_double(x):
    try:
        return given_up(x[0])
    except ValueError:
        return 2 * x[0]


@pytest.mark.parametrize("mode", ["grad", "jvp"])
@pytest.mark.parametrize("f", [spline_or_mean, steps_or_sum, root_or_double, rule_or_double])
def test_a_missing_derivative_cannot_be_swallowed(f: Any, mode: str) -> None:
    """As the errors of NumPy and SciPy can, of which NoDerivativeError is one, a ValueError."""
    x = np.sin(np.arange(9.0)) + 2
    with pytest.raises(wg.NoDerivativeError, match=rf"{__file__}:{f.__code__.co_firstlineno + 2} in {f.__name__}"):
        wg.grad(f)(x) if mode == "grad" else wg.jvp(f, (x,), (x,))


ADVICE = {
    "np.ndenumerate": lambda x: sum(v for v in np.nditer(x)),
    "in a list": lambda x: array.array("d", x.tolist())[0],
    "Index the array": lambda x: memoryview(x)[0],
    "in a tuple": lambda x: struct.unpack("d", struct.pack("d", x[0]))[0],
    "beside its string": lambda x: float.fromhex(float(x[0]).hex()),
    "it is the quotient": lambda x: float(x[0]).as_integer_ratio()[0],
    r"np.array\(a\)": lambda x: np.frombuffer(x).sum(),
}


@pytest.mark.parametrize("instead", ADVICE)
def test_a_refusal_says_what_to_do_instead(instead):
    with pytest.raises(wg.WengertError, match=instead) as error:
        wg.grad(ADVICE[instead])(np.array([0.5, 1.25, 2.0]))
    assert "test_refusals.py" in str(error.value) and "@wg.rrule" not in str(error.value)


def assign(a: Any, key: Any, value: Any) -> None:
    a[key] = value


@pytest.mark.parametrize("store", [assign, operator.setitem], ids=["assigned", "by name"])
@pytest.mark.parametrize(
    "make", [lambda: array.array("d", [0.0, 0.0]), lambda: (ctypes.c_double * 2)(), lambda: memoryview(np.zeros(2))]
)
def test_a_store_into_memory_names_its_type(make: Any, store: Any) -> None:
    def f(x: Any) -> Any:
        a = make()
        store(a, 0, x)
        return a[0] * 2.0

    with pytest.raises(wg.RefusedCallError, match=f"stored in memory of type {type(make()).__name__}"):
        wg.grad(f)(0.5)
