"""Programs over generators, comprehensions, context managers and coroutines."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import contextlib
import itertools

import numpy as np
from program_table import LOG, Programs

program = Programs()

# -- generators and comprehensions


@program(0.8)
def generator(x):
    def powers(n):
        v = 1.0
        for _ in range(n):
            yield v
            v *= x

    return sum(powers(5)) + max(powers(2))


@program(0.8)
def generator_send_and_throw(x):
    def averager():
        total, count, value = 0.0, 0, None
        while True:
            try:
                value = yield total / max(count, 1)
            except KeyError:
                total *= 2
                continue
            total += value
            count += 1

    g = averager()
    next(g)
    g.send(x)
    g.send(x * x)
    last = g.throw(KeyError)
    g.close()
    return last


@program(0.8)
def yield_from(x):
    def inner():
        got = yield x
        yield got * x
        return x**3

    def outer():
        result = yield from inner()
        yield result

    g = outer()
    return next(g) + g.send(x + 1) + next(g)


@program(0.6, 1.7)
def comprehensions(x, y):
    squares = [v * v for v in (x, y)]
    table = {name: v * k for k, (name, v) in enumerate(zip("ab", squares), 1)}
    nested = [[a * b for a in squares] for b in (x, 2.0) if b > 0.1]
    distinct = {x, y, x * y}
    lazily = (v for row in nested for v in row if v != x)
    return sum(table.values()) + sum(lazily) + sum(sorted(distinct))


# -- context managers


class Scope:
    def __init__(self, v):
        self.v = v

    def __enter__(self):
        return self.v * 2

    def __exit__(self, kind, error, traceback):
        LOG.append("left")
        return kind is ValueError


@contextlib.contextmanager
def doubled(v):
    try:
        yield v * 2
    finally:
        LOG.append("closed")


@program(0.6)
def context_managers(x):
    total = x
    with Scope(x) as a, doubled(a) as b:
        total += a * b
    with Scope(x) as c:
        total *= c
        raise ValueError
    with contextlib.suppress(KeyError), contextlib.nullcontext(x * x) as d:
        total += d
        raise KeyError
    with contextlib.ExitStack() as stack:
        e = stack.enter_context(doubled(x))
        stack.callback(LOG.append, "callback")
        total *= e
    return total


# -- async, driven by hand


def finish(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as stop:
        return stop.value


class Pause:
    def __init__(self, value):
        self.value = value

    def __await__(self):
        yield
        return self.value * self.value


class Ticks:
    def __init__(self, value):
        self.value = value

    def __aiter__(self):
        self.step = 0
        return self

    async def __anext__(self):
        self.step += 1
        if self.step > 3:
            raise StopAsyncIteration
        return self.value * self.step


class PausedTicks(Ticks):
    def __anext__(self):
        self.step += 1
        return Pause(self.value * self.step)


class Session:
    def __init__(self, value):
        self.value = value

    async def __aenter__(self):
        return self.value * 2

    async def __aexit__(self, *how):
        self.value = self.value * 3


class Delegating:
    def __init__(self, value):
        self.value = value

    async def wait(self):
        return self.value * 3

    def __await__(self):
        return self.wait().__await__()


@program(1.3, closed=(9 * 1.3**2 + 2 * 1.3,))
def steps_called_by_name(x):
    async def numbers():
        yield x * x

    async def main():
        return await Delegating(x) * await numbers().__aiter__().__anext__()

    return finish(main()) + map(lambda v: v * v, [x]).__iter__().__next__()


@program(np.array([0.5, 1.5]), closed=(np.array([6.0, 1.0]),))
def steps_of_arrays_called_by_name(a):
    flat = a.flat
    return flat.__next__() * 2 + flat.__next__() + a.__iter__().__next__() * 4


@program(1.3, closed=(2 * 1.3,))
def iterators_that_have_given_nothing(x):
    made = [itertools.product([], [x], [x]), itertools.product([x], [], [x]), itertools.zip_longest([x], [])]
    given = [next(it, (x, x)) for it in made] + [pair for it in made for pair in it]
    return given[0][0] * given[1][1]


@program(1.3, closed=(3 * 1.3**2,))
def awaitable_object(x):
    async def main():
        return (await Pause(x)) * x

    return finish(main())


@program(1.3, closed=(2 * 14 * 1.3 + 6,))
def async_iteration(x):
    async def main():
        total = 0.0
        async for v in Ticks(x):
            total = total + v * v
        return total + sum([w async for w in Ticks(x)])

    return finish(main())


@program(1.3, closed=(4 * 1.3**3,))
def async_iteration_of_awaitables(x):
    async def main():
        async for v in PausedTicks(x):
            return v * v

    return finish(main())


@program(1.3, closed=(8 * 1.3 + 3,))
def async_context_manager(x):
    async def main():
        session = Session(x)
        async with session as y:
            z = y * y
        return z + session.value

    return finish(main())


@program(1.3, closed=(2 * 1.3 + 18 * 1.3,))
def async_generator(x):
    async def numbers(v):
        yield v
        await Pause(v)
        yield v * 3

    async def main():
        return sum([v * v async for v in numbers(x)])

    return finish(main())
