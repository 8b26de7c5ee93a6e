"""Programs over exceptions, contexts and patterns: more of it, and its corners."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import contextlib
import math

import numpy as np
from program_table import LOG, Programs

program = Programs()

# -- exceptions


@program(1.3)
def exceptions_in_every_clause(x):
    total = x

    def f(kind):
        nonlocal total
        try:
            total += x
            if kind == 1:
                raise KeyError(x)
            if kind == 2:
                return total
        except KeyError as error:
            total *= error.args[0]
            return total
        else:
            total -= 0.5
        finally:
            total = total * x if kind != 2 else total + x
        return -total

    return f(0) + f(1) * f(2) + total


@program(1.3)
def exceptions_that_call_the_init_of_their_base(x):
    total = 0.0
    for base in (RuntimeError, ValueError, KeyError, ArithmeticError, OSError, StopIteration, UserWarning):

        class Failed(base):
            def __init__(self, residual, n):
                super().__init__(f"residual {residual:.3e} after {n} steps", residual)
                self.residual = residual

        try:
            raise Failed(x * x, 3)
        except base as error:
            total += error.residual * len(str(error)) + error.args[1]
    return total


@program(1.3)
def nested_and_chained_exceptions(x):
    try:
        try:
            raise ValueError(x)
        except ValueError as error:
            error.add_note("noted")
            error.extra = x * 2
            raise
    except ValueError as again:
        total = again.args[0] * again.extra * len(again.__notes__)
    try:
        try:
            raise KeyError(x * 3)
        finally:
            total += x
            {}[x]
    except KeyError as second:
        total += second.__context__.args[0]
    try:
        raise LookupError(x) from ValueError(x * x)
    except LookupError as third:
        return total + third.__cause__.args[0]


@program(1.3, 0.4)
def exception_groups_split_and_nested(x, y):
    inner = ExceptionGroup("inner", [ValueError(y), TypeError(x)])
    total = 0.0
    try:
        raise ExceptionGroup("outer", [inner, KeyError(x * y), ValueError(x * x)])
    except* (ValueError, KeyError) as group:
        for error in group.exceptions:
            total += sum(e.args[0] for e in getattr(error, "exceptions", [error]))
    except* TypeError as group:
        total *= group.exceptions[0].exceptions[0].args[0]
    match, rest = ExceptionGroup("g", [ValueError(x), TypeError(y)]).split(ValueError)
    return total + match.exceptions[0].args[0] * rest.exceptions[0].args[0]


@program(1.3)
def asserts_that_fail(x):
    try:
        assert x < 0, x * 2
    except AssertionError as error:
        value = error.args[0]
    try:
        assert not x
    except AssertionError as error:
        return value * x + len(error.args)


@program(1.3)
def errors_of_numpy_and_python(x):
    total = x
    for wrong in (
        lambda: [x][3],
        lambda: {}["a"],
        lambda: math.sqrt(-x),
        lambda: x / 0,
        lambda: np.ones(3) @ (x * np.ones(2)),
        lambda: x.missing,
        lambda: int("a") * x,
        lambda: (x, x)[0:1].index(5),
        lambda: next(iter([])),
        lambda: None + x,
    ):
        try:
            wrong()
        except (ArithmeticError, LookupError, ValueError, TypeError, AttributeError, StopIteration) as error:
            total = total * 1.1 + len(type(error).__name__) * x
    return total


# -- with


class Managed:
    def __init__(self, v, swallow=()):
        self.v, self.swallow = v, swallow

    def __enter__(self):
        LOG.append("in")
        return self

    def __exit__(self, kind, error, traceback):
        LOG.append(None if kind is None else kind.__name__)
        if error is not None and error.args:
            self.v = self.v * error.args[0]
        return isinstance(error, self.swallow)


@program(1.3, 0.4)
def with_statements(x, y):
    with (
        Managed(x, (KeyError,)) as a,
        Managed(y) as b,
    ):
        a.v = a.v * b.v
        raise KeyError(x * 2)
    for k in range(3):
        with Managed(x) as c, contextlib.suppress(ZeroDivisionError):
            if k == 1:
                continue
            a.v += c.v / (k - 2) if k < 2 else 1 / 0
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(Managed(v)) for v in (x, y)]
        stack.callback(lambda v: LOG.append(len(held)), x)
        stack.push(lambda *how: setattr(b, "v", b.v * x))
    return a.v * held[0].v + b.v


@program(1.3)
def context_managers_from_generators(x):
    @contextlib.contextmanager
    def scaled(v):
        box = [v]
        try:
            yield box
        except ValueError as error:
            box[0] = box[0] * error.args[0]
        finally:
            box[0] += 1.0

    @scaled(x)
    def decorated(v):
        return v * x

    with scaled(x) as box:
        box[0] *= 2
        raise ValueError(x * x)
    return box[0] + decorated(3.0)


@program(1.3)
def several_async_context_managers(x):
    @contextlib.asynccontextmanager
    async def doubled(v):
        yield v * 2
        LOG.append("left")

    class Late:
        async def __aenter__(self):
            return x * x

        async def __aexit__(self, kind, error, traceback):
            return kind is KeyError

    async def main():
        total = 0.0
        async with doubled(x) as a, Late() as b, contextlib.AsyncExitStack() as stack:
            c = await stack.enter_async_context(doubled(b))
            total = a * b + c
            raise KeyError
        return total

    try:
        main().send(None)
    except StopIteration as stop:
        return stop.value


@program(1.3)
def coroutines_driven_by_a_loop(x):
    class Sleep:
        def __await__(self):
            got = yield "tick"
            return got

    async def worker(k):
        total = x
        for _ in range(k):
            total = total * (await Sleep()) + k
        return total

    async def numbers(k):
        for i in range(k):
            await Sleep()
            yield x * i

    async def both():
        return (await worker(2)) + sum([v * v async for v in numbers(3) if v > 0.5])

    ready, results = [(c, None) for c in (worker(1), both(), worker(3))], []
    while ready:
        coroutine, got = ready.pop(0)
        try:
            coroutine.send(got)
        except StopIteration as stop:
            results.append(stop.value)
        else:
            ready.append((coroutine, x * len(ready) + 1))
    return results[0] * results[1] + results[2]


# -- match


class Node:
    __match_args__ = ("left", "right")

    def __init__(self, left, right, tag="n"):
        self.left, self.right, self.tag = left, right, tag


@program(1.3, 0.4)
def match_patterns(x, y):
    def value(v):
        match v:
            case int(n) | str(n) if n == 3:
                return n * x
            case float(number):
                return number
            case Node(left, Node() as deeper, tag="n" | "m"):
                return value(left) * value(deeper)
            case Node(left=l, right=r):
                return value(l) + value(r)
            case [] | ():
                return 1.0
            case [only]:
                return value(only) * 2
            case [first, *_, last] if first is not last:
                return value(first) - value(last)
            case {"op": "add", "args": [a, b]}:
                return a + b
            case {"op": op, **rest}:
                return len(op) * sum(rest.values())
            case None | False:
                return y
            case _:
                return -x

    return sum(
        k * value(v)
        for k, v in enumerate(
            [3, x * x, Node(x, Node(y, x)), Node(x, y, "z"), [], [y], [x, 1.0, y], {"op": "add", "args": [x, y]},
             {"op": "mul", "p": x, "q": y}, None, "else"], 1
        )
    )  # fmt: skip
