"""Random functions that change an object from outside, print and raise, as text."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable
from typing import Any

import numpy as np


class Part:
    """A part of a model."""

    def __init__(self) -> None:
        self.k, self.f, self.a, self.q = 1, 0.5, np.arange(3.0), None


class Model:
    """The object that the functions change."""

    def __init__(self) -> None:
        self.n, self.m, self.f, self.a, self.b, self.none = 0, 3, 1.0, np.ones(3), np.zeros(3), None
        self.l, self.h, self.p = list[Any](), [1.0], Part()
        self.c, self.counts = np.zeros((2, 6))[1, ::2], np.zeros(3, int)
        self.q, self.list = collections.deque([0.5, 1.0], maxlen=3), [1.0, np.ones(3), 2]
        self.d = {"i": 0, "f": 0.5, "a": np.ones(3)}
        self.lists = collections.defaultdict[str, list[Any]](list)


ARRAYS = ["x", "x[0] * w", "w * 2", "np.sin(w)", "m.a", "m.b", "m.p.a", "m.d['a']", "s * w", "w + m.f", "m.p.f * w"]
NUMBERS = [
    "np.sum(w)", "w[0]", "float(w[1])", "m.f", "s", "m.p.f", "m.d['f']", "m.n * 0.1", "len(m.h) * 1.0", "np.sum(m.a)",
    "m.m * w[2]", "np.sum(m.c * X)", "m.counts[1] * 0.5", "np.sum(m.q[0])", "np.sum(m.list[0])",
]  # fmt: skip
COUNTS = ["m.n += 1", "m.m -= 1", "m.n = m.n + m.m", "m.p.k += 2", "m.n += m.p.k", "m.n = 2 * m.n % 7", "m.d['i'] += 1"]
TESTS = [
    "s > 0", "w[0] > m.f", "m.n % 3 == 0", "m.n > 2", "m.none is None", "np.sum(m.a) < 3", "m.d['i'] < 4",
]  # fmt: skip
OUTER = ["m.a", "m.b", "m.p.a", "m.d['a']", "m.c", "X"]
PARTS = ["[...]", "[:]", "[1]", "[1:]", "[::-1]", "[m.n % 3]", "[w > 0]", "[[0, 2]]", "[:2]"]
LENGTHS = ["2", "3", "min(m.p.k, 5)", "min(len(m.h), 4)"]
OTHERS = [
    "s = np.tanh(s)", "m.h.append(2.0)", "u = m.l", "del m.p.q; m.p.q = 1", "m.w = w",
    "if s > 1e3: raise ValueError('big')",
]  # fmt: skip


def effect_source(seed: int) -> str:
    """Return the text of a function `f(m, x)` of a model and an array."""
    rng = random.Random(seed)
    writes = rng.choice([0.0, 0.0, 0.2, 0.5])

    def array() -> str:
        return f"({rng.choice(ARRAYS)} {rng.choice('+-*')} {rng.choice(ARRAYS)})"

    def number() -> str:
        return rng.choice(NUMBERS)

    def write() -> str:
        a, part = rng.choice(OUTER), rng.choice(PARTS)
        return rng.choice([
            f"{a}{part} = {number()}", f"{a} {rng.choice('+-*')}= {array()}",
            f"{a}{part} {rng.choice('+-*')}= {number()}",
            f"np.{rng.choice(['add', 'multiply'])}({array()}, {number()}, out={a})", f"{a}[:2] = {array()}[1:]",
            f"v = {a}[1:]; v += s; s = s + v[0]", f"{a}.fill({number()})", f"np.copyto({a}, {array()})",
            f"{a}[...] = {rng.choice(OUTER)}", f"{a}[:] = {rng.choice(OUTER)}[::-1]", f"x[:] = {rng.choice(OUTER)}",
            f"m.list[{rng.choice(['0', '1', '-1'])}] = {rng.choice([number(), array(), 'm.n'])}",
            f"m.q.append({rng.choice([number(), array()])})", "m.list.append(m.list.pop(0))", "m.list.insert(1, s)",
            "m.list[2], m.list[0] = m.list[0], m.list[2]", "m.q.rotate(1)", f"m.list[1] = {a}",
            f"m.counts[{rng.choice(['0', 'm.n % 3', 'w > 0'])}] += 1",
        ])  # fmt: skip

    def simple() -> str:
        if rng.random() < writes:
            return write()
        return rng.choice([
            f"m.{rng.choice('ab')} = {array()}", f"m.f = {number()}", f"m.p.{rng.choice('fq')} = {number()}",
            rng.choice(COUNTS), rng.choice(COUNTS), f"m.l.append({rng.choice([number(), array(), 'm.n', '(m.n, w)'])})",
            f"print({rng.choice([number(), array(), 'm.n'])})", 'print(f"{m.n}: {s:.3f}", "%d %.2f" % (m.m, s))',
            f"m.d['{rng.choice('fz')}'] = {number()}", f"m.lists['{rng.choice('xy')}'].append({number()})",
            f"s = s + {number()}", f"w = {array()}",
            f"m.none = {rng.choice([number(), 'None', array(), 'm.p', 'm.n'])}", f"m.p.a = m.p.a + {array()}",
            f"m.a, m.b = m.b, {array()}", rng.choice(OTHERS),
        ])  # fmt: skip

    def statement(depth: int) -> list[str]:
        if depth == 2 or rng.random() < 0.75:
            return [simple()]
        body = [f"    {line}" for _ in range(rng.randrange(1, 4)) for line in statement(depth + 1)]
        kind = rng.randrange(5)
        if kind < 2:
            return [f"if {rng.choice(TESTS)}:", *body, *(["else:", f"    {simple()}"] if rng.random() < 0.4 else [])]
        if kind < 4:
            return [f"for i{depth} in range({rng.choice(LENGTHS)}):", *body]
        end = ["    if s > 50: raise ValueError(m.n)", "except ValueError:", "    m.f = 0.25"]
        return ["try:", *body, *end]

    lines = [f"    {line}" for _ in range(rng.randrange(3, 9)) for line in statement(0)]
    begin, end = "def f(m, x):\n    w, s = x * 1.0, np.sum(x) * 0.1\n", "    return np.sum(np.sin(w)) + s * s\n"
    return begin + "\n".join(lines) + "\n" + end


def effect_function(seed: int) -> tuple[str, Callable[[Model, Any], Any]]:
    """Return the text of a function, and the function."""
    text, space = effect_source(seed), {"np": np, "X": np.linspace(-1.0, 1.0, 3)}
    exec(compile(text, f"<effects {seed}>", "exec"), space)
    return text, space["f"]  # type: ignore[return-value]


def state_of(thing: Any) -> Any:
    """Return what can be read of a thing, to compare: types, and the bits of numbers."""
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.tobytes()
    if isinstance(thing, (list, tuple, collections.deque)):
        return type(thing), [*map(state_of, thing)]
    if isinstance(thing, dict):
        return type(thing), [(key, state_of(part)) for key, part in thing.items()]
    if isinstance(thing, (Model, Part)):
        return type(thing), state_of(vars(thing))
    return type(thing), repr(thing)


def aliases_in(model: Model) -> list[tuple[str, str]]:
    """Return the names of attributes that hold the same array, or arrays with common memory."""
    arrays = [(name, part) for name, part in vars(model).items() if isinstance(part, np.ndarray)]
    arrays += [(f"p.{name}", part) for name, part in vars(model.p).items() if isinstance(part, np.ndarray)]
    return [(a, b) for k, (a, x) in enumerate(arrays) for b, y in arrays[k + 1 :] if np.shares_memory(x, y)]
