"""Methods of the user's that code in C calls: factories, items that are missing, conversions, getters."""

# ruff: noqa (programs are written as a user would)

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
from typing import Any

import numpy as np
from opaque_table import Cases

cases = Cases()
vector = cases.vector


class Doubled:
    """A number that is asked for itself."""

    def __init__(self, v):
        self.v = v

    def __float__(self):
        return float(self.v * 2)


class Rows:
    """Numbers that are asked for as an array."""

    def __init__(self, v):
        self.v = v

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.v * 2)


class Indexed:
    def __init__(self, *v):
        self.v = v

    def __len__(self):
        return len(self.v)

    def __getitem__(self, i):
        return self.v[i] * 3


class Factory:
    def __init__(self, v):
        self.v = v

    def __call__(self, *args):
        return self.v * 3

    def make(self):
        return self.v * 5


class Falling(dict):
    def __init__(self, v):
        self.v = v

    def __missing__(self, key):
        return self.v * 2


class Deeper(Falling):
    def __getitem__(self, key):
        return super().__getitem__(key) * 3


class Ring:
    def __init__(self, v):
        self.v = v

    def __mul__(self, other):
        return Ring(self.v * (other.v if isinstance(other, Ring) else other))

    def __add__(self, other):
        return Ring(self.v + (other.v if isinstance(other, Ring) else other))

    __rmul__ = __mul__
    __radd__ = __add__


class Properties:
    def __init__(self, v):
        self.v = v

    def _set(self, v):
        self.v = v * 4

    tripled = property(functools.partial(lambda k, self: self.v * k, 3.0))
    got = property(operator.attrgetter("v"), _set)
    called = property(Factory(2.0))


@vector
def factory_that_is_an_object(x):
    return collections.defaultdict(Factory(x[0]))["a"]


@vector
def factory_that_is_a_method(x):
    table = collections.defaultdict(Factory(x[0]).make)
    table["a"] += x[1]
    return table["a"] * table["b"]


@vector
def factory_that_is_partial(x):
    return collections.defaultdict(functools.partial(operator.mul, x[0], x[1]))["a"]


@vector
def factory_asked_in_every_way(x):
    def table():
        return collections.defaultdict(Factory(x[0]).make)

    return (
        operator.getitem(table(), 1)
        + table().__getitem__(1) * x[1]
        + operator.itemgetter(1)(table())
        + table().__missing__(1)
        + collections.defaultdict.__getitem__(table(), 2)
    )


@vector
def no_factory(x):
    try:
        return collections.defaultdict(None, a=x[0])["b"]
    except KeyError as error:
        return x[1] * len(error.args)


@vector
def missing_items(x):
    table = Falling(x[0])
    return (
        table["a"]
        + dict.__getitem__(table, "a") * x[1]
        + table.__getitem__("b")
        + [*map(table.__getitem__, "c")][0]
        + Deeper(x[2])["d"]
    )


@vector
def float_of_an_object_stored(x):
    a = np.zeros(2)
    a[0] = Doubled(x[0])
    return np.sum(a)


@vector
def float_of_objects_in_a_list_stored(x):
    a = np.zeros(2)
    a[:] = [1.0, Doubled(x[0])]
    return np.sum(a)


@vector
def array_of_an_object_stored(x):
    a = np.zeros(3)
    a[:] = Rows(x)
    return np.sum(a)


@vector
def sequence_stored(x):
    a = np.zeros(2)
    a[:] = Indexed(x[0], x[1])
    return np.sum(a)


@vector
def array_of_an_object_added(x):
    a = x * 1.0
    a += Rows(x)
    return np.sum(a)


@vector
def array_of_an_object_copied(x):
    a = np.zeros(3)
    np.copyto(a, Rows(x))
    return np.sum(a)


@vector
def array_of_an_object_as_out(x):
    a = np.zeros(3)
    np.multiply(x, Rows(x), out=a)
    return np.sum(a)


@vector
def array_of_objects(x):
    return np.sum(np.array([Doubled(x[0])], float))


@vector
def array_of_an_object_and_an_array(x):
    return np.sum(np.array([Rows(x), x]))


@vector
def stack_of_an_object(x):
    return np.sum(np.stack([Rows(x), x]) * np.concatenate([x, Rows(x)])[:3])


@vector
def array_of_objects_as_they_are(x):
    return (np.array([Ring(x[0])], object) * 2.0)[0].v


@vector
def exact_sum_of_objects(x):
    return math.fsum([Doubled(x[0]), 1.0])


@vector
def distance_of_objects(x):
    return math.dist([Doubled(x[0])], [1.0])


@vector
def products_and_sums_of_objects(x):
    rings = [Ring(x[0]), Ring(x[1])]
    return math.prod(rings).v + sum(rings).v * sum(rings, start=Ring(x[2])).v + math.prod(rings, start=x[2]).v


@vector
def properties_of_any_function(x):
    box = Properties(x[0])
    y = box.tripled * box.got
    box.got = x[1]
    return y + box.v + box.called * x[2]


@vector
def objects_called_by_iterators(x):
    factory = Factory(x[0])
    return (
        [*map(factory, [1])][0]
        + [*itertools.starmap(factory, [()])][0]
        + functools.reduce(factory, [1, 2])
        + [*itertools.accumulate([1.0, 2.0], factory)][1]
        + sorted([x[0], x[1]], key=factory)[0]
        + next(iter(factory, None))
    )
