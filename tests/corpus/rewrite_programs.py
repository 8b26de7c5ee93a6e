"""Small programs, one for each construct of the language, by name in `PROGRAMS`; each returns a value to compare."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import asyncio
import contextlib
import functools
import traceback
from types import FunctionType

PROGRAMS: dict[str, FunctionType] = {}
LEVEL = 3


def program(f):
    PROGRAMS[f.__name__] = f
    return f


@program
def arithmetic():
    a, b = 7.5, 2
    c = a + b - a * b / b // 2 % 5**b
    i = 13
    i += 1
    i -= 2
    i *= 3
    i //= 2
    i %= 11
    i **= 2
    i <<= 3
    i >>= 1
    i |= 5
    i &= 29
    i ^= 3
    f = 8.0
    f /= 3
    return c, i, f, -a, +a, ~i, not a, (6 & 3, 6 | 3, 6 ^ 3, 1 << b, 64 >> b)


class Matrix:
    def __init__(self, *rows):
        self.rows = rows

    def __matmul__(self, other):
        return ("@", self.rows, other.rows)

    def __imatmul__(self, other):
        return ("@=", self.rows, other.rows)


@program
def matrix_product():
    a, b = Matrix(1, 2), Matrix(3)
    c = a
    c @= b
    return a @ b, c


@program
def loops():
    out = []
    for i in range(5):
        if i == 1:
            continue
        if i == 4:
            break
        out.append(i)
    else:
        out.append("never")
    n = 3
    while n:
        n -= 1
        if n == 7:
            break
    else:
        out.append("else")
    for i, (a, *b) in enumerate([(1, 2, 3), (4,)]):
        out.append((i, a, b))
    while True:
        n += 1
        if (n > 3 and not n < 2) or n is None:
            break
    return out, n


@program
def exceptions():
    log = []

    def inner(kind):
        try:
            try:
                log.append(kind)
                if kind:
                    raise kind("x")
            except ValueError as e:
                log.append(("value", str(e)))
                raise RuntimeError("again") from e
            except (KeyError, IndexError):
                log.append("lookup")
                return "returned"
            else:
                log.append("else")
            finally:
                log.append("finally")
        except RuntimeError as e:
            log.append((str(e), repr(e.__cause__)))
            return "handled"
        return "end"

    results = [inner(kind) for kind in (None, ValueError, KeyError, IndexError)]
    try:
        inner(ZeroDivisionError)
    except ArithmeticError as e:
        results.append(repr(e))
    for i in range(3):
        try:
            if i == 1:
                continue
            results.append(1 / (i - 2))
        except ZeroDivisionError:
            break
        finally:
            log.append(i)
    return results, log


@program
def exception_groups():
    log = []
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), ExceptionGroup("h", [KeyError(3)])])
    except* ValueError as g:
        log.append(repr(g.exceptions))
    except* (TypeError, KeyError) as g:
        log.append(len(g.exceptions))
    return log


@program
def traceback_lines():
    def deep(n):
        if n == 0:
            return n / n
        return deep(n - 1)

    lines = []
    try:
        deep(3)
    except ZeroDivisionError as e:
        lines += [(f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__) if f.filename == __file__]
    try:
        [][3].thing(
            1,
        )
    except IndexError as e:
        lines += [(f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__) if f.filename == __file__]
    return lines


class Manager:
    def __init__(self, log, name, swallow=False):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append(("enter", self.name))
        return self.name

    def __exit__(self, kind, value, tb):
        self.log.append(("exit", self.name, kind))
        return self.swallow

    async def __aenter__(self):
        await asyncio.sleep(0)
        return self.__enter__()

    async def __aexit__(self, *how):
        return self.__exit__(*how)


@program
def with_statement():
    log = []

    def leaves():
        with Manager(log, "r"):
            return "returned"

    with Manager(log, "a") as a, Manager(log, "b", True) as b:
        log.append((a, b))
        with Manager(log, "c"):
            raise ValueError
    for i in range(2):
        with contextlib.suppress(KeyError), Manager(log, i) as d:
            if d:
                break
            {}["missing"]
    return log, leaves()


@program
def generators():
    def counter(n):
        total = 0
        for i in range(n):
            try:
                got = yield i * 2
            except KeyError as e:
                got = e.args[0]
            total += got or 0
        return total

    def outer():
        result = yield from counter(3)
        yield ("result", result)
        yield from [7, 8]
        return "end"

    g = outer()
    out = [next(g), g.send(10), g.throw(KeyError(5))]
    out.extend(g)
    h = counter(2)
    next(h)
    h.close()
    return out, list(h), sum(x * x for x in counter(4)), [*counter(2)]


@program
def coroutines():
    class Source:
        def __init__(self, n):
            self.n = n

        def __aiter__(self):
            return self

        async def __anext__(self):
            self.n -= 1
            if self.n < 0:
                raise StopAsyncIteration
            await asyncio.sleep(0)
            return self.n

    async def numbers(n):
        for i in range(n):
            await asyncio.sleep(0)
            yield i + 1

    async def main():
        log = []
        async with Manager(log, "a") as a, Manager(log, "b", True):
            log.append(a)
            raise ValueError
        async for i in Source(3):
            log.append(i)
        else:
            log.append("else")
        log += [i async for i in numbers(3) if i != 2]
        log.append({i: await asyncio.sleep(0, i) async for i in numbers(2)})
        log.append(await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2)))
        return log

    return asyncio.run(main())


@program
def comprehensions():
    n = 3
    a = [i + j for i in range(n) for j in range(i) if i - j > 0]
    b = {i: str(i) for i in a}
    c = {i % 2 for i in a}
    d = sum(i for i in a if i in c)
    e = [[i * j for j in range(2)] for i in range(2)]
    f = [(lambda: i)() for i in range(3)]
    g = max([len([k for k in range(i)]) for i in a], default=0)
    return a, b, c, d, e, f, g, [last := i for i in a], last


@program
def closures():
    count = 0

    def step(by=2, *, times=LEVEL):
        nonlocal count
        count += by * times
        return lambda: count

    return step()(), step(1, times=2)(), count, step.__defaults__, step.__kwdefaults__


@program
def global_names():
    global LEVEL
    LEVEL += 1
    LEVEL -= 1
    return LEVEL


@program
def decorators():
    def twice(f):
        @functools.wraps(f)
        def run(*args, **kwargs):
            return [f(*args, **kwargs), f(*args, **kwargs)]

        return run

    def add(n):
        return lambda f: lambda *a: (n, f(*a))

    @add(1)
    @twice
    @functools.lru_cache
    def g(x):
        return x + 1

    @twice
    class C:
        pass

    return g(2), type(C()[0]).__name__


@program
def classes():
    class Base:
        size: int = 2

        def __init__(self, x):
            self.x = x

        def value(self, k=1):
            return self.x * k

        @classmethod
        def make(cls, x):
            return cls(x)

        @property
        def double(self):
            return self.value(2)

    class Child(Base):
        size = Base.size + 1
        items = [i * 2 for i in range(3)]

        def __init__(self, x):
            super().__init__(x)
            self.y = super().value(3) + super().value()
            self.who = super().value.__name__, __class__.__name__

        @classmethod
        def make(cls, x):
            return super().make(x + 1)

        @property
        def double(self):
            return super().double + 1

    c = Child.make(4)
    c.x += 10
    del c.y
    return (
        c.x,
        c.who,
        c.double,
        hasattr(c, "y"),
        Child.size,
        Child.items,
        Child.__qualname__,
        Base.__annotations__,
    )


@program
def calls():
    def f(*args, **kwargs):
        return args, kwargs

    class Callable:
        def __call__(self, *args, k=0):
            return args, k

        m = __call__

    a, d, c = (1, 2), {"p": 3}, Callable()
    return (
        f(), f(1), f(1, 2), f(x=1), f(1, x=2), f(*a), f(*a, 3), f(0, *a, *a), f(**d), f(1, **d), f(*a, **d),
        f(*a, k=1, **d), f(x=1, **d, **{"q": 4}), f(*[1], *(2,), y=0), f(*iter(a), **dict(d)),
        c(1), c(1, k=2), c.m(1, 2, k=3), c.m(*a), c.m(*a, **{"k": 5}), "a-b".split("-"), "a-b".split(sep="-"),
        (lambda x, /, y, *, z: (x, y, z))(1, y=2, z=3), (f if a else c)(1 if d else 2, k=3 if c else 4),
        sorted([3, 1, 2], key=lambda v: -v), f([i for i in a], k=[i for i in a]),
    )  # fmt: skip


@program
def call_errors():
    def f(a):
        return a

    messages = []
    for attempt in (
        lambda: f(*1), lambda: f(**1), lambda: f(a=1, **{"a": 2}), lambda: f(), lambda: f(1)(2), lambda: [*1],
        lambda: f.missing, lambda: 1 + "a", lambda: {**1}, lambda: [1][2], lambda: iter(3), lambda: -"a",
    ):  # fmt: skip
        try:
            attempt()
        except Exception as e:
            messages.append((type(e), str(e).replace("rewrite_programs.", "")))
    try:
        a, b = 1, 2, 3
    except ValueError as e:
        messages.append(str(e))
    return messages


@program
def unpacking():
    a, b = b, a = 1, 2
    c, *d, e = range(5)
    (f, g), h = [(1, 2), 3]
    *i, j = "xyz"
    k = [*d, *i, *{}]
    s = {*d, *k}
    m = {**{"a": 1}, "b": 2, **dict(c=3)}
    t = (*d, 1)
    return a, b, c, d, e, f, g, h, i, j, k, s, m, t


@program
def conditions():
    out = []
    for x in (0, 1, 2.5, "", "a", None, [], [0]):
        out += [x and 1, x or 2, not x, 3 if x else 4, (x and x) or "z", (x or None) is None, not (x and out)]
    for x in (1, 5, 9):
        out += [1 < x < 9, 1 <= x <= 5 != 4, x in (1, 5) and x not in (5,), 0 < x > 3 == True, x is not None]
        assert x, "never"
        try:
            assert x < 6 or x in (1,), f"too large: {x}"
        except AssertionError as e:
            out.append(str(e))
    try:
        assert not out
    except AssertionError as e:
        out.append(e.args)
    if (n := len(out)) > 3 and n:
        out.append(n)
    return out


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


@program
def matching():
    def kind(v):
        match v:
            case 0 | 1:
                return "small"
            case int(n) if n > 100:
                return ("large", n)
            case [a, [b, *rest]]:
                return (a, b, rest)
            case [*_, 9]:
                return "nine"
            case {"k": k, **rest}:
                return (k, rest)
            case Point(0, y=yy):
                return ("axis", yy)
            case Point(x=xx) as p:
                return (xx, p.y)
            case str() as s:
                return s.upper()
            case None:
                return "none"
            case _:
                return "other"

    values = 1, 50, 500, [1, [2, 3]], [4, 9], {"k": 1, "z": 2}, Point(0, 5), Point(1, 6), "s", None, 1.5
    return [kind(v) for v in values]


@program
def texts():
    x, name, width = 3.14159, "pi", 10
    return (
        f"{name}={x}", f"{x:.2f}", f"{x:{width}.{2}f}", f"{name!r}", f"{name!s:>5}", f"{name!a:<{width}}|", f"{x!r:>12}",
        f"{name}", f"", f"{x=}", f"{'nested ' + f'{name}'}", "%s %d" % (name, x), "{} {a}".format(name, a=x),
    )  # fmt: skip


@program
def subscripts():
    a = list(range(10))
    d = {"k": {"n": [1, 2]}}
    a[0] = 5
    a[1:3] = [7, 7, 7]
    a[::2] = [0] * len(a[::2])
    del a[-1], a[2:4], a[::3]
    d["k"]["n"][0] += 4
    d["z"] = a[1:], a[:-1], a[-2], a[1:3:2], a[:]
    a[1:2] += [8]
    del d["k"]["n"]

    class Grid:
        def __getitem__(self, key):
            return key

    return a, d, Grid()[1, 2:3, ..., None], Grid()[1:2], Grid()[:, ::2]


@program
def attributes():
    class Box:
        pass

    b = Box()
    b.value = 3
    b.value += 4
    b.inner = Box()
    b.inner.list = [1]
    b.inner.list[0] *= 5
    before = b.value
    del b.value
    return before, hasattr(b, "value"), b.inner.list, vars(b).keys() == {"inner"}


@program
def deletion():
    a = b = 1

    def f():
        return b

    del a
    try:
        a
    except UnboundLocalError as e:
        message = str(e)
    f()
    del b
    try:
        f()
    except NameError as e:
        return message, str(e)


@program
def imports():
    import os.path as p
    from math import floor
    from math import sqrt as root

    return p.join("a", "b"), floor(2.5), root(4)


@program
def recursion():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)

    return fib(12), depth(400)


@program
def frames():
    x, y = 1, 2
    names = list(locals())
    return names, sorted(locals().items(), key=str), [k for k in dir() if k == "x"], eval("x + y")


@program
def many_names():
    space = {}
    lines = [f"v{i} = {i}.5" for i in range(300)]
    lines += ["total = 0.0"]
    lines += ["for i in range(3):"] + [f"    total += v{i} * i if v{i} > i else v{i - 1}" for i in range(1, 300)]
    source = "def f():\n" + "".join(f"    {line}\n" for line in lines) + "    return total\n"
    exec(source, space)
    return space["f"]()
