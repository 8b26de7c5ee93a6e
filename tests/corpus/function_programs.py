"""Programs over functions, closures and control flow."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from program_table import A, LOG, SCALE, W, Programs

program = Programs()

# -- functions and closures


@program(2.0, 3.0, closed=(3.0 + math.cos(2.0), 2.0))
def first_example(x, y):
    return x * y + math.sin(x)


@program(1.5)
def closure(x):
    def add(y):
        return x * y + SCALE

    return add(2.0) * add(x)


@program(1.5)
def nonlocal_counter(x):
    total = 0.0

    def step(y):
        nonlocal total
        total += y * y

    for k in range(3):
        step(x + k)
    return total


@program(0.7)
def lambdas(x):
    square = lambda v: v * v
    compose = lambda f, g: lambda v: f(g(v))
    return compose(square, math.sin)(x) + (lambda a, b=x: a * b)(3.0)


@program(1.1)
def recursion(x):
    def power(v, n):
        return v if n == 1 else v * power(v, n - 1)

    return power(x, 6)


@program(0.3, 0.8)
def mutual_recursion(x, y):
    def even(n, v):
        return v if n == 0 else odd(n - 1, v * x)

    def odd(n, v):
        return v if n == 0 else even(n - 1, v + y)

    return even(5, 1.0)


@program(1.2, 0.4, 2.2)
def arguments(x, y, z):
    def f(a, /, b, *rest, c=2.0, **named):
        return a * b + sum(rest) * c + named["d"] * named.get("e", 1.0)

    pair = (y, z)
    words = {"d": x * z, "e": y}
    return f(x, *pair, c=z, **words) + f(x, y, d=1.0)


@program(1.3)
def keyword_only_and_defaults(x):
    def f(a, b=3.0, *, c, d=0.5):
        return a**b * c + d

    return f(x, c=x) + f(b=2.0, a=x, c=1.0, d=x)


@program(0.9)
def mutable_default(x):
    def f(v, seen=[]):
        seen.append(v)
        return sum(seen)

    return f(x) + f(x * x)


@program(2.0)
def global_variables(x):
    return x * SCALE + (W * x).sum() + A[0, 1] * x**2


@program(0.8)
def early_return(x):
    if x > 1:
        return x
    if x > 0.5:
        return x * x
    return -x


# -- control flow


@program(0.5)
def while_break_continue_else(x):
    total, k = 0.0, 0
    while True:
        k += 1
        if k == 2:
            continue
        if k > 6 or total > 2.0:
            break
        total += x**k
    for v in (1.0, 2.0):
        total *= v
    else:
        total += x
    return total


@program(2.5)
def newton(a):
    x = 1.0
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@program(0.6)
def exceptions(x):
    def risky(v, kind):
        if kind:
            raise kind(v)
        return v * 2

    total = 0.0
    for kind in (None, ValueError, KeyError):
        try:
            total += risky(x, kind)
        except ValueError as error:
            total += error.args[0] ** 2
        except (KeyError, IndexError) as error:
            total += 3 * error.args[0]
        else:
            total += math.exp(x)
        finally:
            total *= x
    return total


@program(0.6)
def caught_math_error(x):
    try:
        y = math.log(x - 1)
    except ValueError:
        y = x**3
    try:
        y = y / (x - x)
    except ZeroDivisionError:
        y += x
    return y


class Carrying(Exception):
    def __init__(self, value):
        super().__init__("carrying")
        self.value = value


@program(0.6)
def exception_carries_a_value(x):
    try:
        try:
            raise Carrying(x * x)
        except Carrying as first:
            raise RuntimeError from first
    except RuntimeError as second:
        return second.__cause__.value * x


@program(0.4)
def exception_groups(x):
    total = x
    try:
        raise ExceptionGroup("both", [ValueError(x * 2), KeyError(x * x)])
    except* ValueError as group:
        total += group.exceptions[0].args[0]
    except* KeyError as group:
        total *= group.exceptions[0].args[0]
    return total


@program(0.4)
def finally_overrides(x):
    def f():
        try:
            return x
        finally:
            LOG.append("finally")

    def g():
        for k in range(3):
            try:
                if k == 1:
                    continue
                y = x * k
            finally:
                LOG.append(k)
        return y

    return f() + g()


@program(0.75)
def chained_comparison(x):
    y = x * 2 if 0 < x < 1 <= x + 0.5 != 7 else x
    return y if not (x < 0 < y) else 0.5 * y


@program(0.0, 1.5, closed=(1.0, 2.0))
def and_or_values(x, y):
    return (x or y) + (x and y) + (y and y)


@program(0.7)
def walrus(x):
    total = 0.0
    while (y := total + x) < 3:
        total = y * y + x
    return total + sum((z := x * k) + z for k in range(3))


@program(1.4)
def ternaries(x):
    sign = 1 if x > 0 else -1
    return (x**2 if sign > 0 else x**3) + (-x if x < 1 else x)


@program(1.4, 2.0)
def asserts_and_del(x, y):
    assert x > 0, f"x is {x}"
    values = {"a": x, "b": y, "c": x * y}
    del values["b"]
    rest = [x, y, y]
    del rest[0], rest[:1]
    z = x
    del x
    return sum(values.values()) + z * rest[0]


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Circle:
    centre: Any
    radius: float


@program(1.4, 0.3)
def match_statement(x, y):
    def area(shape):
        match shape:
            case Circle(radius=r) if r < 0:
                return 0.0
            case Circle(centre=Point(cx, cy), radius=r):
                return math.pi * r * r + cx * cy
            case {"side": side, **rest}:
                return side**2 * len(rest)
            case [a, b, *others]:
                return a * b + sum(others)
            case float() | int() as number:
                return number * 3
            case None:
                return 1.0

    shapes = [Circle(Point(x, y), y), {"side": x, "colour": 3}, [x, y, x, 2.0], x * y, None]
    return sum(area(shape) for shape in shapes)


@program(1.4, 0.3, 0.9)
def star_unpacking(x, y, z):
    first, *middle, last = [x, y, z, x * y]
    (a, b), c = (first, last), [*middle, *(k * z for k in range(2))]
    a, b = b, a
    return a - b * sum(c) + max(*middle, last)


@program(0.25)
def f_strings(x):
    LOG.append(f"{x:.3f} {x!r:>8} {x * 2}")
    LOG.append("%.2f and %s" % (x, x))
    LOG.append("{:.1f} {name}".format(x, name=x))
    LOG.append(str(x) + repr(x))
    print(f"{x=}", x, end="")
    return x * 4
