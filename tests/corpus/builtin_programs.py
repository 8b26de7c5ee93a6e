"""Programs over builtins and containers."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import collections
import copy
import enum
import itertools
import math
import operator
import types

import numpy as np
from class_programs import Derived, Vector
from function_programs import Point
from program_table import Programs

program = Programs()

# -- builtins


@program(0.6, -1.2, 0.9)
def sorting(x, y, z):
    values = [x, y, z]
    values.sort(key=lambda v: v * v, reverse=True)
    ordered = sorted({"a": x, "b": y, "c": z}.items(), key=lambda item: -item[1])
    return values[0] * ordered[0][1] + sorted(values)[1] + sorted([(z, 1), (x, 2)])[0][0]


@program(0.6, -1.2, 0.9)
def min_max(x, y, z):
    return (
        max(x, y, z) * min([x, y, z])
        + max([x, y], key=abs) * 2
        + min(x, 0.1)
        + max((), default=z)
        + max({"a": x, "b": z}.values())
        + min(z, 5.0, key=lambda v: v)
    )


@program(0.6, -1.2)
def zip_enumerate_reversed(x, y):
    total = 0.0
    for k, (a, b) in enumerate(zip([x, y, x * y], reversed([x, y, 3.0]), strict=True), start=1):
        total += k * a * b
    return total


@program(0.6, -1.2)
def any_all_sum(x, y):
    total = sum([x, y, x * y]) + sum((x, y), start=2.0) + sum(([x], [y]), [])[1]
    if any(v > 0 for v in (x, y)) and not all([x > 0, y > 0]) and any([x]):
        total *= x
    return total


@program(0.6, -1.2)
def lists(x, y):
    values = [x] * 2 + [y]
    values.append(x * y)
    values.insert(1, y * y)
    values.extend(v * 2 for v in (x, y))
    values += [x, 1.0]
    values[1:3] = [y, y, x]
    last = values.pop()
    values.reverse()
    values.remove(y)
    head, tail = values[:2], values[-2:]
    return sum(values) * last + head[0] * tail[0] + values.index(x) + values.count(x) + copy.copy(values)[0]


@program(0.6, -1.2)
def dicts(x, y):
    d = dict(a=x, b=y)
    d["c"] = d["a"] * d["b"]
    d |= {"e": x}
    d.update(f=y * 2)
    d.setdefault("g", x)
    default = collections.defaultdict(list)
    default["k"].append(x)
    factory = collections.defaultdict(lambda: x)
    counts = collections.Counter("aab")
    ordered = collections.OrderedDict(d)
    ordered.move_to_end("a")
    merged = {**d, "z": y}
    return (
        sum(merged.values())
        + d.pop("a") * d.get("missing", y)
        + default["k"][0] * counts["a"]
        + factory["n"]
        + list(ordered.values())[-1]
        + collections.ChainMap({"p": x}, d)["p"]
    )


@program(0.6, -1.2)
def sets_deques_and_keys(x, y):
    seen = {x, y}
    queue = collections.deque([x, y], maxlen=3)
    queue.appendleft(x * y)
    queue.append(2.0)
    queue.rotate(1)
    table = {x: y, y: x}
    return queue[0] * queue.pop() + sum(queue) + table[x] * (x in seen) + sum(frozenset((x, y))) + hash(x) * 0


@program(0.6, -1.2)
def namedtuples(x, y):
    p = Point(x, y)
    q = p._replace(y=p.x * 3)
    a, b = q
    Pair = collections.namedtuple("Pair", "u v", defaults=[2.0])
    space = types.SimpleNamespace(v=x)
    space.v *= y
    return a * b + p[1] * Pair(x).v + sum(q) + operator.attrgetter("u")(Pair(y)) + p._asdict()["x"] + space.v


class Colour(enum.Enum):
    RED = 1.5
    BLUE = 2.5

    def tint(self, v):
        return self.value * v

    @property
    def half(self):
        return self.value / 2


class Flag(enum.IntFlag):
    A = 1
    B = 2


@program(0.6)
def enums(x):
    total = Colour.RED.tint(x) + Colour(2.5).half * x
    for colour in Colour:
        match colour:
            case Colour.RED:
                total *= x
            case Colour.BLUE:
                total += colour.value * x
    return total * int(Flag.A | Flag.B) if Colour.RED is Colour["RED"] else 0.0


@program(0.6, 1.7)
def operator_module(x, y):
    pair = [x, y]
    operator.setitem(pair, 0, operator.mul(x, 3.0))
    total = operator.add(x, y) * operator.sub(x, y) + operator.truediv(x, y) + operator.pow(x, 2) + operator.neg(y)
    total = operator.iadd(total, operator.getitem(pair, 0))
    total += operator.itemgetter(0, 1)(pair)[1] + operator.attrgetter("x")(Point(x, y))
    total += operator.methodcaller("scale")(Derived(x)) + operator.call(math.sin, x) + operator.abs(-y)
    return total if operator.lt(x, y) and operator.not_(operator.eq(x, y)) else 0.0


@program(0.6)
def callable_objects_and_methods(x):
    v = Vector(x, 2.0)
    call, bound, unbound = v, v.__call__, Vector.__call__
    scale = Derived(x).scale
    pairs = list(map(v, (1.0, x)))
    return call(x) + bound(2.0) * unbound(v, x) + scale() + sum(pairs) + (2.5).__mul__(x) + x.__add__(1.0)


@program(0.6, 1.7)
def itertools_functions(x, y):
    total = sum(itertools.accumulate([x, y, 2.0], operator.mul)) + list(itertools.accumulate((x, y)))[-1]
    total += sum(itertools.chain([x], (y * k for k in range(2)))) + sum(itertools.islice(itertools.cycle([x, y]), 3))
    for a, b in itertools.product([x, y], repeat=2):
        total += a * b
    total += sum(itertools.starmap(lambda a, b: a**b, [(x, 2), (y, 3)]))
    total += sum(itertools.takewhile(lambda v: v < 1, [x, y])) + sum(itertools.chain.from_iterable([[x], [y]]))
    total += sum(a * b for a, b in itertools.pairwise([x, y, x])) + sum(itertools.repeat(x, 2))
    for key, group in itertools.groupby([x, y, y], key=lambda v: v > 1):
        total += sum(group) * (2 if key else 1)
    return total + sum(a * b for a, b in itertools.combinations((x, y, 3.0), 2))


@program(0.6, 1.7)
def math_functions(x, y):
    total = math.exp(x) + math.log(y) + math.log(y, 2) + math.log1p(x) + math.sqrt(y) + math.hypot(x, y)
    total += math.sin(x) * math.cos(y) + math.tan(x) + math.atan2(x, y) + math.asin(x) + math.tanh(y)
    total += math.pow(x, y) + math.fsum([x, y, 1.0]) + math.prod((x, y, 2.0)) + math.erf(x) + math.fabs(-y)
    total += math.floor(y) + math.copysign(x, -1.0) + math.degrees(x)
    return total * (2 if math.isfinite(x) and not math.isclose(x, y) else 1)


@program(0.6, 1.7)
def numbers(x, y):
    total = abs(-x) + divmod(y, 1)[1] + y % 1 + y // 1 + pow(x, 2) + round(y, 1) + int(y) + x.real
    total += float(x) + (+x) + (-y) + (x < y) + float(2) + x.conjugate() + bool(x) * y + pow(x, y) + 2**x
    return total + (3 - x) / (2 * y) + complex(x, y).real + abs(complex(x, y))


@program(0.6, 1.7)
def complex_numbers(x, y):
    z = complex(x, y) * (1 + 2j) + x
    w = z * z.conjugate() + np.exp(1j * y)
    return (w / (z + 1)).real + z.imag * abs(w)
