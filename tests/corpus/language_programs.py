"""Programs over the statements and expressions of the language: more of it, and its corners."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import contextlib
import math
import sys

import numpy as np
from exception_programs import Node
from program_table import LOG, Programs

program = Programs()

COUNT = 0.0
COUNTS = [0.7]


# -- names and calls


@program(1.3)
def global_statement(x):
    global COUNT
    COUNT = x * 2

    def add(y):
        global COUNT
        COUNT += y
        return COUNT

    total = add(x) * add(x * x)
    COUNT = 0.0
    return total


@program(1.3, 0.4)
def nonlocal_through_three_levels(x, y):
    total = x

    def outer():
        def middle():
            def inner():
                nonlocal total
                total *= y

            inner()
            return inner

        return middle()

    outer()()
    return total


@program(1.3, 0.4, 2.0)
def positional_only_and_keyword_only(x, y, z):
    def f(a, b=0.5, /, c=2.0, *, d, e=y, **others):
        return a * b + c * d - e + sum(others.values())

    return f(x, d=z) + f(x, y, z, d=x, e=z, a=y, b=x) + f(x, c=y, d=z)


@program(1.3, 0.4)
def star_unpacking_everywhere(x, y):
    def f(*args, **kwargs):
        return sum(args) + sum(k * v for k, v in enumerate(kwargs.values(), 1))

    pair, names = (x, y), {"a": x, "b": y}
    a = np.zeros((2, 2)) + x
    index = (0, 1)
    (p, (q, *r)), *s = (x, (y, x, x * y)), y, 3.0
    for head, *tail in [(x, y, x), (y, x)]:
        p = p * head + sum(tail)
    return (
        f(*pair, 1.0, *[v * v for v in pair], **names, **{"c": x * y}) + a[*index] + len({*pair, *pair})
        + sum([*pair, *range(2), *names.values()]) * sum({**names, "z": x}.values()) + p * q - sum(r) + s[0] * s[1]
    )  # fmt: skip


@program(1.3)
def defaults_are_evaluated_once(x):
    made = []

    def default():
        made.append(1)
        return x * x

    def f(v, scale=default(), *, shift=default() * 2):
        return v * scale + shift

    total = f(2.0) + f(3.0, x) + f(x, shift=1.0)
    f.__defaults__ = (x,)
    return total * len(made) + f(x)


@program(1.3, 0.4)
def late_binding_closures(x, y):
    late = [lambda: k * x for k in range(3)]
    early = [lambda k=k: k * y for k in range(3)]
    x = x * 2
    return sum(f() for f in late) + sum(f() for f in early)


@program(1.3)
def recursion_through_a_default_and_a_cell(x):
    fact = lambda n, f=None: x if n == 0 else n * fact(n - 1) / 2
    Y = lambda f: (lambda g: g(g))(lambda g: f(lambda v: g(g)(v)))
    return fact(4) + Y(lambda again: lambda n: x if n < 1 else again(n - 1) * x + n)(5)


@program(1.3)
def function_attributes_and_decorators_of_classes(x):
    def register(by):
        def decorate(cls):
            cls.by = by
            old = cls.area
            cls.area = lambda self: old(self) * self.by
            return cls

        return decorate

    @register(x)
    @register(x * 2)
    class Square:
        def area(self):
            return x * x

    def counter():
        counter.calls += x
        return counter.calls

    counter.calls = 0.5
    return Square().area() + counter() * counter()


@program(1.3, 0.4)
def evaluation_order(x, y):
    order = []

    def note(v):
        order.append(v)
        return v

    d = {note(x): note(y)}
    d[note(y)] = note(x) if note(x) > note(y) else note(y)
    values = [note(x) - note(y) * note(x), (lambda a, *, b: a * b)(note(y), b=note(x))]
    return sum(v * k for k, v in enumerate(order)) + sum(values) + d[x] * d[y]


@program(1.3)
def chained_and_augmented_assignment(x):
    a = b = c = [x, 2.0]
    a[0] += (a := [x * 3])[0]
    i = 0
    i, b[i] = 1, x * 5
    obj = type("Obj", (), {"v": x})()
    obj.v **= 2
    obj.v -= x
    t = (x,)
    t += (x * 2, 3.0)
    return b[0] * c[1] + a[0] + obj.v + t[1] * t[2]


@program(1.3, 0.4)
def conditional_and_boolean_expressions(x, y):
    a = x and y or x * y
    b = (not x and x) or (y if not y > 1 else x)
    c = x < y or x
    d = 0 or None or "" or x
    e = x if y is not None and x in (x, y) and y not in [x] else 0.0
    return a * b + c * d + e


# -- loops, generators and comprehensions


@program(1.3)
def nested_loops_with_else(x):
    total = 0.0
    for i in range(4):
        for j in range(4):
            if j == 2 and i % 2:
                break
            if (i + j) % 3 == 0:
                continue
            total += x**i * j
        else:
            total *= x
            continue
        total -= x
    while total > 5:
        total /= 2
    else:
        total += x
    return total


@program(1.3)
def loop_targets(x):
    a, d = [0.0, 0.0, 0.0], {}
    for a[1] in (x, x * x):
        a[2] += a[1]
    for d["k"], (u, *v) in [(x, (1.0, x)), (x * 2, (x, 3.0))]:
        a[0] += d["k"] * u * v[0]
    return sum(a)


@program(1.3)
def generators_in_a_pipeline(x):
    def numbers():
        k = 0
        while True:
            yield x * k
            k += 1

    def squares(source):
        for v in source:
            yield v * v

    def until(source, limit):
        for v in source:
            if v > limit:
                return v
            yield v

    def total(source, limit):
        last = yield from until(source, limit)
        yield last * 10

    return sum(total(squares(numbers()), 20.0))


@program(1.3)
def generator_with_finally_and_close(x):
    def g():
        try:
            while True:
                try:
                    got = yield x
                except ValueError as error:
                    yield error.args[0] * 2
                else:
                    LOG.append(got is None)
        finally:
            LOG.append("closed")
            yield_after.append(x * 3)

    yield_after = []
    a = g()
    first = next(a) + next(a)
    second = a.throw(ValueError(x * x))
    a.close()
    with contextlib.closing(g()) as b:
        third = b.send(None)
    return first * second + third + sum(yield_after)


@program(1.3)
def generator_returns_and_delegates(x):
    class Tree:
        def __init__(self, value, *children):
            self.value, self.children = value, children

        def __iter__(self):
            yield self.value
            for child in self.children:
                yield from child

    def averaging():
        total, n = 0.0, 0
        while (v := (yield)) is not None:
            total, n = total + v, n + 1
        return total / n

    def collecting(out):
        while True:
            out.append((yield from averaging()))

    out = []
    c = collecting(out)
    next(c)
    for v in (*Tree(x, Tree(x * x), Tree(2.0, Tree(x))), None, x, 5.0, None):
        c.send(v)
    return out[0] * out[1]


@program(1.3)
def generator_expressions_are_lazy(x):
    scale = x
    lazy = (v * scale for v in (x, 2.0))
    scale = x * x
    first = next(lazy)
    scale = 1.0
    return first + sum(lazy)


@program(1.3, 0.4)
def comprehensions_of_every_kind(x, y):
    grid = [[i * x + j * y for j in range(3)] for i in range(2)]
    flat = [v for row in grid for v in row if v > 0.5 if v < 4]
    keyed = {k: v for k, v in enumerate(flat) if k % 2}
    unique = {round(k): k for k in (1, 2, 1)}
    running = [total := (total if k else 0.0) + v for k, v in enumerate(flat)] if (total := x) else []
    values = (a * b for a, b in zip(flat, keyed.values()))
    inside = [[(lambda w: w * v)(x) for v in row] for row in grid]
    return sum(flat) + sum(keyed.values()) * len(unique) + running[-1] + sum(values) + total + inside[1][2]


# -- namespaces, text, frames


@program(1.3)
def eval_exec_and_locals(x):
    y = x * 2
    space = {"x": x, "y": y, "math": math}
    exec("def f(v):\n    return v * x + math.sin(y)\nz = [f(k) for k in (1.0, y)]", space)
    code = compile("x * y + 1", "<code>", "eval")
    return eval(code) + sum(space["z"]) + eval("a ** 2", {"a": y}) + locals()["y"] + vars()["x"]


@program(1.3)
def frames_and_globals(x):
    def own(y):
        return sys._getframe().f_locals["y"] * 2, sys._getframe().f_code.co_name

    value, name = own(x)
    return value * len(name) + globals()["COUNTS"][0] * x


@program(1.3, 0.4)
def text_of_values(x, y):
    width = 12
    LOG.extend([f"{x:>{width}.{3}f}|{y!r:^10}|{x + y=}", "%(a).2f %(b)s" % {"a": x, "b": y}, "%5.1f%%" % x])
    LOG.append("{0:.2e} {1[0]} {2.left}".format(x, [y], Node(x, y)))
    LOG.append(", ".join(f"{k}={v:+.1f}" for k, v in {"x": x, "y": y}.items()))
    LOG.extend([format(x, ".3g"), str([x, {"y": y}]), ascii(x), str(np.array([x, y])), round(x, 1)])
    print("x:", x, [y], sep="-", end="!\n")
    return x * y


@program(1.3)
def del_of_every_kind(x):
    class Box:
        pass

    box, items, table, a = Box(), [x, x * 2, 3.0, x], {"a": x, "b": 2.0}, x * x
    box.v = x * 5
    del items[1], items[-1:], table["a"]
    b = a
    del a
    try:
        a
    except UnboundLocalError:
        b *= x
    kept = box.v
    del box.v, box
    return sum(items) * b + sum(table.values()) + kept


@program(1.3)
def classes_and_functions_changed_after_use(x):
    class Box:
        def __add__(self, other):
            return x * other

        def area(self):
            return x

    def f(v, scale=x * 2):
        return v * scale

    box = Box()
    total = (box + 2.0) * box.area() + f(2.0)
    Box.__add__ = lambda self, other: x * x * other
    Box.area = lambda self: x + 5
    f.__defaults__ = (x * 3,)
    total += (box + 2.0) * box.area() + f(2.0)
    del Box.__add__
    try:
        box + 2.0
    except TypeError:
        total *= x
    f.__code__ = (lambda v, scale: v + scale).__code__
    return total + f(x)
