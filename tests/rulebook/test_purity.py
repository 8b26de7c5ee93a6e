"""Rules whose bodies do more than to compute: nothing that they do is lost, and their ȳ is their own."""

from __future__ import annotations

import collections
import contextlib
import functools
import linecache
import operator
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.rulebook.rule_variants import RuleBody

A, B = np.array([1.5, -2.0, 0.5]), np.array([0.25, 3.0, -4.0])


@pytest.fixture(autouse=True)
def scoped() -> Iterator[None]:
    with wg.rules.scope():
        yield


class Box:
    pass


class Adder:
    """Adds to an array where it is asked for anything."""

    def __init__(self, array: Any, value: Any) -> None:
        self.array, self.value = array, value

    def add(self, *args: Any) -> Any:
        self.array += self.value
        return self

    __matmul__ = __getitem__ = __lshift__ = __invert__ = __eq__ = __bool__ = __enter__ = __iter__ = add  # type: ignore[assignment]
    __call__ = __format__ = add
    done = property(add)

    def __exit__(self, *args: Any) -> None:
        pass

    def __hash__(self) -> int:
        return 0


def write(array: Any, value: Any) -> None:
    array[...] = value


def write_and_give(array: Any, value: Any) -> Any:
    part = array[:]
    part += value
    return value


def of_caller(name: str) -> Any:
    return sys._getframe(1).f_locals[name]


@contextlib.contextmanager
def writing(array: Any, value: Any) -> Iterator[None]:
    array[...] = value
    yield


WORK = np.zeros(3)
KEPT: list[Any] = []
TABLE: dict[Any, Any] = collections.defaultdict(lambda: KEPT.append(1))

# Bodies that make `g`, the cotangent of a, which is ȳ b. `w` is that product.
BODIES = {
    "view": "g = np.zeros(3); head = g[:]; head += w",
    "view of a view": "g = np.zeros(3); head = g[1:]; tail = head[:]; tail += w[1:]; first = g[:1]; first += w[:1]",
    "transposed": "g = np.zeros((3, 1)); t = g.T; t += w; g = g[:, 0]",
    "reshaped": "g = np.zeros(3); t = np.reshape(g, (1, 3)); t += w",
    "real part": "g = np.zeros(3, complex); t = g.real; t += w; g = g.real",
    "diagonal view": "g = np.zeros((3, 3)); t = np.einsum('ii->i', g); t += w; g = np.diagonal(g)",
    "broadcast array": "g = np.zeros(3); t = np.asarray(g); t += w",
    "alias": "g = np.zeros(3); t = g; t += w",
    "either": "g = np.zeros(3); t = g if a is not None else w; t += w",
    "unpacked": "g = np.zeros(3); t, u = g, w; t += u",
    "item of a list": "g = np.zeros(3); l = [g]; l[0] += w",
    "loop over a list": "g = np.zeros(3)\nfor t in [g]: t += w",
    "comprehension over a list": "g = np.zeros(3); ts = [t for t in [g]]; ts[0] += w",
    "out": "g = np.empty(3); np.multiply(y_bar, b, out=g)",
    "out in an assignment": "g = np.empty(3); unread = np.multiply(y_bar, b, out=g)",
    "out by position": "g = np.empty(3); unread = np.multiply(y_bar, b, g)",
    "out of a sum": "g = np.empty(()); unread = np.sum(w, None, None, g); g = g - np.sum(w) + w",
    "out of a product": "g = np.empty(3); unread = np.dot(w, np.eye(3), g)",
    "out by a starred argument": "g = np.empty(3); given = (y_bar, b, g); unread = np.multiply(*given)",
    "out by a dictionary": "g = np.empty(3); given = dict(out=g); unread = np.multiply(y_bar, b, **given)",
    "out of a method": "g = np.empty(3); unread = w.clip(-1e9, 1e9, g)",
    "at": "g = np.zeros(3); unread = np.add.at(g, [0, 1, 2], w)",
    "copyto": "g = np.empty(3); np.copyto(g, w)",
    "putmask": "g = np.empty(3); unread = np.putmask(g, b == b, w)",
    "place": "g = np.empty(3); np.place(g, b == b, w)",
    "put": "g = np.empty(3); unread = np.put(g, [0, 1, 2], w)",
    "nan_to_num": "g = w + np.where(b > 0, np.nan, 0); unread = np.nan_to_num(g, False); g = np.where(b > 0, w, g)",
    "fill_diagonal": "g = np.zeros((3, 3)); unread = np.fill_diagonal(g, w); g = np.diagonal(g)",
    "put_along_axis": "g = np.zeros(3); unread = np.put_along_axis(g, np.arange(3), w, 0)",
    "overwritten median": "g = np.array([3, 1, 2]); unread = np.median(g, overwrite_input=True); g = w * (g[0] < g[1])",
    "item": "g = np.empty(3); g[...] = w",
    "items": "g = np.empty(3); g[0], g[1:] = w[0], w[1:]",
    "flat": "g = np.empty(3); g.flat[:] = w",
    "attribute": "g = np.zeros(3, complex); g.real = w; g = g.real",
    "augmented item": "g = np.zeros(3); g[:] += w",
    "augmented attribute": "box = Box(); box.g = 0; box.g += w; g = box.g",
    "method": "g = np.empty(3); g.put([0, 1, 2], w)",
    "fill": "g = np.empty(3); unread = g.fill(1.0); g = g * w",
    "sort": "g = np.array([3.0, 1.0, 2.0]); unread = g.sort(); g = g / [1, 2, 3] * w",
    "dunder": "g = np.empty(3); unread = g.__setitem__(slice(None), w)",
    "memoryview": "g = np.zeros(3); m = memoryview(g); m[0], m[1], m[2] = w",
    "setitem": "g = np.empty(3); unread = operator.setitem(g, slice(None), w)",
    "iadd": "g = np.zeros(3); unread = operator.iadd(g, w)",
    "pop": "l = [w, 0.0]; l.pop(); g = l[-1]",
    "pop in an assignment": "l = [w, 0.0]; unread = l.pop(); g = l[-1]",
    "append": "l = [0.0]; l.append(w); g = l[-1]",
    "method of a list kept": "l = [0.0]; add = l.append; add(w); g = l[-1]",
    "extend": "l = []; unread = l.extend([w]); g = l[0]",
    "augmented list": "l = []; m = l; m += [w]; g = l[0]",
    "slice of a list": "l = [0.0, 1.0]; l[:] = [w]; g = l[0]",
    "del of an item": "l = [0.0, w]; del l[0]; g = l[0]",
    "del of a name": "g = w; t = g; del t",
    "dict": "d = {}; d['g'] = w; g = d['g']",
    "update": "d = {}; unread = d.update(g=w); g = d['g']",
    "setdefault": "d = {}; unread = d.setdefault('g', w); g = d['g']",
    "set": "d = {1}; unread = d.add(2); g = w * (len(d) - 1)",
    "next": "it = iter([0.0, w]); next(it); g = next(it)",
    "next in an assignment": "it = iter([0.0, w]); unread = next(it); g = next(it)",
    "unpacked iterator": "it = iter([0.0, w]); (unread,) = [next(it)]; (g,) = it",
    "generator": "it = (v for v in [0.0, w]); unread = next(it); g = next(it)",
    "used up by sum": "it = iter([1.0, 2.0]); unread = sum(it); g = w * (1 - len(list(it)))",
    "used up by max": "it = (v for v in [1.0, 2.0]); unread = max(it); g = w * (1 - len(list(it)))",
    "used up by unpacking": "it = iter([1.0, 2.0]); p, q = it; g = w * (1 - len(list(it)))",
    "used up by zip": "it = iter([1.0, 2.0]); unread = [p for p in zip(it, [1, 2])]; g = w * (1 - len(list(it)))",
    "used up by in": "it = iter([1.0, 2.0]); unread = 2.0 in it; g = w * (1 - len(list(it)))",
    "used up by star": "it = iter([1.0, 2.0]); unread = [*it]; g = w * (1 - len(list(it)))",
    "used up by a comprehension": "it = iter([1.0, 2.0]); unread = [v for v in it]; g = w * (1 - len(list(it)))",
    "used up behind its back": "it = (v for v in [1.0]); t = it; unread = list(t); g = w * (1 - len(list(it)))",
    "nonlocal": "g = None\ndef put():\n    nonlocal g\n    g = w\nput()",
    "nonlocal in an assignment": "g = None\ndef put():\n    nonlocal g\n    g = w\nunread = put()",
    "global": "WORK[...] = w; g = WORK.copy()",
    "global by a call": "unread = write_and_give(WORK, w - WORK); g = WORK.copy()",
    "nested writer": "g = np.zeros(3)\ndef put(v):\n    g[...] = v\nunread = put(w)",
    "nested default": "g = np.zeros(3)\ndef put(to=g):\n    to += w\nunread = put()",
    "nested function": "def made(v=b):\n    return y_bar * v\ng = made()",
    "decorated": "@functools.cache\ndef made():\n    return y_bar * b\ng = made()",
    "called by a decorator": "g = np.zeros(3)\n@lambda f: f()\ndef put():\n    g[...] = w",
    "lambda": "g = np.zeros(3); put = lambda v: g.__setitem__(slice(None), v); unread = put(w)",
    "lambda called at once": "g = np.zeros(3); unread = (lambda v: operator.iadd(g, v))(w)",
    "partial": "g = np.zeros(3); put = functools.partial(operator.iadd, g); unread = put(w)",
    "map": "g = np.zeros(3); unread = list(map(lambda v: operator.iadd(g, v), [w]))",
    "key of sorted": "g = np.zeros(3); unread = sorted([w], key=lambda v: operator.iadd(g, v)[0])",
    "key of max": "g = np.zeros(3); unread = max([w], key=lambda v: operator.iadd(g, v)[0])",
    "comprehension": "l = []; unread = [l.append(v) for v in [w]]; g = l[0]",
    "generator in any": "l = []; unread = any(l.append(v) for v in [w]); g = l[0]",
    "condition of a comprehension": "l = []; unread = [v for v in [w] if l.append(v)]; g = l[0]",
    "target of a comprehension": "box = Box(); unread = [0 for box.g in [w]]; g = box.g",
    "walrus": "unread = (g := w)",
    "walrus in a comprehension": "unread = [g := v for v in [w]]",
    "walrus in a condition": "if (g := w) is None: pass",
    "walrus in a call": "unread = np.sum(g := w)",
    "call in a condition": "g = np.zeros(3)\nif write(g, w): pass",
    "call in a comparison": "g = np.zeros(3); unread = 1 < 2 < (write(g, w) or 3)",
    "and": "g = np.zeros(3); unread = a is not None and write(g, w)",
    "or": "g = np.zeros(3); unread = a is None or write(g, w)",
    "conditional expression": "g = np.zeros(3); unread = write(g, w) if a is not None else 0",
    "f-string": "g = np.zeros(3); unread = f'{write(g, w)}'",
    "slice": "g = np.zeros(3); unread = w[: write(g, w)]",
    "starred": "g = np.zeros(3); unread = [*[write(g, w)]]",
    "display": "g = np.zeros(3); unread = {'a': (1, [write(g, w)])}",
    "assert": "g = np.zeros(3); assert write(g, w) is None",
    "annotated": "g = np.zeros(3); unread: int = write(g, w)",
    "chained": "g = np.zeros(3); p = q = write(g, w)",
    "expression": "g = np.zeros(3); write(g, w)",
    "helper": "g = np.zeros(3); unread = write_and_give(g, w)",
    "helper by another name": "g = np.zeros(3); put = write_and_give; unread = put(g, w)",
    "helper of an array": "g = np.zeros(3); unread = np.apply_along_axis(lambda v: write(g, w) or 0, 0, b)",
    "vectorized": "g = np.zeros(3); unread = np.vectorize(lambda i: operator.setitem(g, i, w[i]) or 0)([0, 1, 2])",
    "frompyfunc": "g = np.zeros(3); unread = np.frompyfunc(lambda i: operator.setitem(g, i, w[i]), 1, 1)([0, 1, 2])",
    "operator of an object": "g = np.zeros(3); o = Adder(g, w); unread = o @ 1",
    "index of an object": "g = np.zeros(3); o = Adder(g, w); unread = o[1]",
    "comparison of an object": "g = np.zeros(3); o = Adder(g, w); unread = o == 1",
    "not of an object": "g = np.zeros(3); o = Adder(g, w); unread = ~o",
    "attribute of an object": "g = np.zeros(3); o = Adder(g, w); unread = o.done",
    "object in with": "g = np.zeros(3)\nwith Adder(g, w): pass",
    "object in a call": "g = np.zeros(3); o = Adder(g, w); unread = o()",
    "with": "g = np.zeros(3)\nwith writing(g, w): pass",
    "errstate": "g = np.zeros(3)\nwith np.errstate(all='ignore'): write(g, w)",
    "for": "g = np.zeros(3)\nfor i in range(3): g[i] = w[i]",
    "for over an iterator": "it = iter([1.0])\nfor v in it: pass\ng = w * (1 - len(list(it)))",
    "for in a name": "for g in [w]: pass",
    "while": "g, i = np.zeros(3), 0\nwhile i < 3:\n    g[i] = w[i]\n    i += 1",
    "try": "try:\n    [][0]\nexcept IndexError:\n    g = w",
    "try with a check": "g = 0\ntry:\n    unread = [][0]\nexcept IndexError:\n    g = w",
    "match": "match [w]:\n    case [g]: pass",
    "class": "class Made:\n    value = y_bar * b\ng = Made.value",
    "class that writes": "g = np.zeros(3)\nclass Made:\n    g[...] = w",
    "import": "import numpy as name\ng = name.multiply(y_bar, b)",
    "locals": "g = w; g = locals()['y_bar'] * locals()['b']",
    "locals by another name": "see = locals; g = see()['y_bar'] * see()['b']",
    "vars": "g = vars()['y_bar'] * vars()['b']",
    "eval": "g = eval('y_bar * b')",
    "exec": "d = {}; exec('g = y_bar * b', {**locals()}, d); g = d['g']",
    "eval by a function": "g = list(map(eval, ['1.0']))[0] * w",
    "frame of the caller": "g = of_caller('y_bar') * of_caller('b')",
    "local of the caller": "t = y_bar * b; g = of_caller('t')",
    "format": "t = y_bar * b; g = np.array([float(v) for v in '{t[0]!r} {t[1]!r} {t[2]!r}'.format(**vars())"
    ".replace('np.float64(', '').replace(')', '').split()])",
    "table": "KEPT.clear(); unread = TABLE[object()]; g = w * len(KEPT)",
    "swap": "g, t = 0, w; g, t = t, g",
    "starred target": "first, *g = [0, w]; g = g[0]",
    "nested target": "(p, (g, q)) = (0, (w, 1))",
    "attribute target": "box = Box(); box.g, unread = w, 0; g = box.g",
    "setattr": "box = Box(); unread = setattr(box, 'g', w); g = box.g",
    "vars of an object": "box = Box(); vars(box)['g'] = w; g = box.g",
    "number in place": "g = 0.0; g += w",
    "own array in place": "g = np.zeros_like(b); g += w; g *= 1.0",
    "argument exchanged": "b = b + 0; g = y_bar * b",
    "argument in place": "b = b.copy(); b *= y_bar; g = b",
    "dtype asked": "g = w.astype(b.dtype)",
}  # fmt: skip


def made_function(text: str, **names: Any) -> Any:
    """The function `rule` of a text that Python finds under a file name."""
    file = f"<body {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {**globals(), "functools": functools, "operator": operator, **names}
    exec(compile(text, file, "exec"), namespace)
    return namespace["rule"]


def body_of(statements: str, results: str) -> str:
    lines = statements if "\n" in statements else "\n".join(part.strip() for part in statements.split("; "))
    return "def rule(y_bar, y, a, b):\n" + textwrap.indent(f"w = y_bar * b\n{lines}\nreturn {results}\n", "    ")


def product(rule: Any) -> Callable[..., Any]:
    def f(a: Any, b: Any) -> Any:
        return a * b

    wg.vjp_rule(f)(rule)
    return f


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("first", [True, False])
def test_no_statement_is_lost(name: str, first: bool) -> None:
    """∂(a b)/∂a = b and ∂(a b)/∂b = a, for each of them alone and both, also where `g` is what nobody wants."""
    if first:
        f = product(made_function(body_of(BODIES[name], "g, y_bar * a")))
        expected = [B, A]
    else:  # in which the statements make the cotangent of the second
        text = body_of(BODIES[name], "y_bar * a, g").replace("(y_bar, y, a, b)", "(y_bar, y, b, a)")
        f = product(made_function(text))
        expected = [B, A]
    for argnums in [(0,), (1,), (0, 1)]:
        got = wg.grad(lambda a, b: np.sum(f(a, b)), argnums=argnums)(A.copy(), B.copy())
        for place, bar in zip(argnums, got, strict=True):
            np.testing.assert_allclose(bar, expected[place], rtol=1e-15)


@pytest.mark.parametrize("name", BODIES)
def test_not_on_the_hundredth_use(name: str) -> None:
    """The step that a rule gets after some uses does what the rule does: Σₖ k Σ (a + k) b for k < 120."""
    f = product(made_function(body_of(BODIES[name], "g, y_bar * a")))
    got = wg.grad(lambda a: sum([k * np.sum(f(a + k, B)) for k in range(120)]))(A)
    np.testing.assert_allclose(got, sum(range(120)) * B, rtol=1e-12)


CHECKS = {
    "call": "check(a)",
    "call in an assignment": "unread = check(a)",
    "call in a condition": "if check(a): pass",
    "helper that raises": "unread = checked(a)",
    "raise": "if np.shape(a) == (3,): raise ValueError('checked')",
    "assert": "assert np.shape(a) != (3,), 'checked'",
    "NumPy": "np.linalg.inv(np.zeros((2, 2)))  # checked",
    "display": "unread = (1, [check(a)])",
    "method": "unread = checker.check(a)",
    "result": "pass",
    "result of a helper": "pass",
}


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("argnum", [0, 1])
def test_no_check_is_lost(name: str, argnum: int) -> None:
    def check(x: Any) -> None:
        raise ValueError("checked")

    box: Any = Box()
    box.check = check
    one = {"result": "check(a)", "result of a helper": "checked(y_bar * b)"}.get(name, "y_bar * b")
    text = body_of(CHECKS[name], f"{one}, y_bar * a")
    text = "def checked(x):\n    if np.size(x): raise ValueError('checked')\n    return x\n" + text
    f = product(made_function(text, check=check, checker=box))
    with pytest.raises((ValueError, AssertionError), match=r"checked|Singular"):
        wg.grad(lambda a, b: np.sum(f(a, b)), argnums=argnum)(A, B)


@pytest.mark.parametrize("kind", ["pullback", "partials"])
@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
@pytest.mark.parametrize(("a", "b"), [(A, B), (2.0, 3.0), (0.0, 0.0)])
def test_what_a_body_does_it_does_once(kind: str, argnums: Any, a: Any, b: Any) -> None:
    calls: list[int] = []

    def f(a: Any, b: Any) -> Any:
        return a * b

    if kind == "pullback":
        wg.vjp_rule(f)(made_function(body_of("calls.append(1); g = w", "g, y_bar * a"), calls=calls))
    else:
        wg.partials(f)(made_function("def rule(y, a, b):\n    calls.append(1)\n    return b, a\n", calls=calls))
    wg.grad(lambda a, b: np.sum(f(a, b)), argnums=argnums)(a, b)
    assert calls == [1]
    wg.grad(lambda a: sum([np.sum(f(a, b)) for _ in range(150)]))(a)
    assert len(calls) == 151


COMPUTE = {
    "operators": "g = -(a * b) ** 2 / (1 + a) // 1 % 2 @ b if a is not None and not np.ndim(b) > 1 else a[..., None]",
    "NumPy": "g = np.sum(np.where(b > 0, b, 0), axis=0, keepdims=True) * np.linalg.norm(b)",
    "methods": "g = a.reshape(3, 1).transpose(0, 1).sum(0).copy()",
    "comprehension": "g = [x * i for i, x in enumerate(a) if any(x > t for t in b)]; h = sum(v for v in g)",
    "helper": "g = helper(a) * 2",
    "errstate": "with np.errstate(all='ignore'):\n    g = np.log(a)",
    "condition": "if np.ndim(a) > 1:\n    g = a\nelse:\n    g = b",
    "own array": "g = np.zeros(3); g[0] = a[0]; g += b",
    "own list": "g = [0] * 3; g[1] = a",
    "text": "g = f'{a.shape!r} of {b:10}'",
}


@pytest.mark.parametrize("name", COMPUTE)
def test_what_only_computes_is_left_out(name: str) -> None:
    helper = "def helper(x):\n    y = np.exp(x)\n    return y * CONSTANT\nCONSTANT = 2.0\n"
    body = RuleBody(made_function(helper + body_of(COMPUTE[name], "g, y_bar")), "pullback")
    variant = body.variant((False, True))
    assert body.computes and variant.source is not None
    assert textwrap.dedent(variant.source).splitlines()[1:] == ["    return (None, y_bar)"]
    assert variant.reads == ("nothing", "nothing")


def test_our_own_rules_only_compute() -> None:
    """So that none of them loses its variants, or gets a copy of ȳ that it does not need."""
    odd = set()
    for f in wg.rules:
        rule = wg.rules[f]
        if rule.analysis is not None and rule.where.rpartition("/")[0].endswith("wengert_rules"):
            body = rule.analysis
            assert body.effects is not None and body.effects.is_blind(), rule
            if not body.computes or not (body.exact or body.variadic):
                odd.add(rule.name)
    assert odd == {"given_to_equals_"}


# ȳ

WRITES = {
    "times": "g *= 2; bars = g * b / 2, g * a / 2",
    "item": "g[...] = 2 * g; bars = g * b / 2, g * a / 2",
    "out": "np.multiply(g, 2, out=g); bars = g * b / 2, g * a / 2",
    "at": "np.add.at(g, ..., g.copy()); bars = g * b / 2, g * a / 2",
    "sort": "bars = g * b, g * a; g.sort(); g.fill(7.0)",
    "view": "bars = g * b, g * a; t = g.reshape(-1); t += 1",
    "scipy": "bars = g * b, g * a; blas.dscal(3.0, g)",
    "solved in place": "x = solve(np.eye(3), g, overwrite_b=True); bars = x * b, x * a; g[:] = 0",
    "made its own": "g *= b; bars = g, g / b * a",
    "after": "bars = g * b, g * a; kept.append(g)\nfor old in kept: old += 1",
    "flags": "g.flags.writeable = True; g += 0; bars = g * b, g * a; g += 1",
}  # fmt: skip


def as_rrule(text: str, names: dict[str, Any]) -> Callable[..., Any]:
    def f(a: Any, b: Any) -> Any:
        return a * b

    back = made_function("def rule(g, a, b):\n" + textwrap.indent(text + "\nreturn bars\n", "    "), **names)

    @wg.rrule(f)
    def f_rule(a, b):
        return a * b, lambda y_bar: back(y_bar, a, b)

    return f


def as_pullback(text: str, names: dict[str, Any]) -> Callable[..., Any]:
    text = "def rule(g, y, a, b):\n" + textwrap.indent(text + "\np, q = bars\nreturn p, q\n", "    ")
    return product(made_function(text, **names))


def as_thunks(text: str, names: dict[str, Any]) -> Callable[..., Any]:
    def f(a: Any, b: Any) -> Any:
        return a * b

    back = made_function("def rule(g, a, b):\n" + textwrap.indent(text + "\nreturn bars\n", "    "), **names)

    @wg.rrule(f)
    def f_rule(a, b):
        def pullback(y_bar):
            bars = back(y_bar, a, b)
            return wg.Thunk(lambda: bars[0] + 0 * y_bar), wg.Thunk(lambda: bars[1])

        return a * b, pullback

    return f


FORMS = {"rrule": as_rrule, "pullback": as_pullback, "thunks": as_thunks}


def shared(f: Callable[..., Any]) -> Callable[..., Any]:
    """Its cotangents stand in several places: 2 a b² + 3 a b + 2 a + b, and so on."""

    def total(a: Any, b: Any) -> Any:
        y = f(a, b) + f(b, a) + (a + b)
        return np.sum(y.reshape(1, 3)[0] + a)

    return total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WRITES)
def test_a_pullback_may_write_its_cotangent(form: str, name: str) -> None:
    import scipy.linalg

    names = {"blas": scipy.linalg.blas, "solve": scipy.linalg.solve, "kept": []}
    text = WRITES[name] if "\n" in WRITES[name] else "\n".join(WRITES[name].split("; "))
    if "\n" in WRITES[name]:
        first, rest = WRITES[name].split("\n", 1)
        text = "\n".join([*first.split("; "), rest])
    total = shared(FORMS[form](text, names))
    expected = [2 * B + 2, 2 * A + 1]
    for _ in range(2):
        np.testing.assert_allclose(wg.grad(total, argnums=(0, 1))(A, B), expected)
    seed = np.array(2.0)
    np.testing.assert_allclose(wg.vjp(total, A, B)[1](seed), np.multiply(2, expected))
    assert seed == 2.0


@pytest.mark.parametrize("form", ["rrule", "pullback"])
@pytest.mark.parametrize("name", ["times", "item", "out", "view", "made its own"])
def test_nested_and_on_tapes(form: str, name: str) -> None:
    total = shared(FORMS[form]("\n".join(WRITES[name].split("; ")), {}))
    expected = [2 * B + 2, 2 * A + 1]
    got = wg.grad(lambda a: np.sum(a * wg.grad(total, argnums=1)(a, B)))(A)
    np.testing.assert_allclose(got, 4 * A + 1)
    tape = wg.gradtape(total, A, B)
    np.testing.assert_allclose(tape.play(A, B)[1][1:], expected)
    np.testing.assert_allclose(tape.play(2 * A, 3 * B)[1][1:], [6 * B + 2, 4 * A + 1])


@pytest.mark.parametrize("form", FORMS)
def test_the_seed_stays(form: str) -> None:
    f = FORMS[form]("g *= 2\nbars = g * b / 2, g * a / 2", {})
    seed = np.array([1.0, 2.0, 3.0])
    held = seed.copy()
    pull = wg.vjp(f, A, B)[1]
    for _ in range(2):
        np.testing.assert_allclose(pull(seed), [seed * B, seed * A])
        np.testing.assert_array_equal(seed, held)
    _, by_hand = wg.rules.rrule(f, A, B)
    np.testing.assert_allclose(by_hand(seed), [held * B, held * A])
    np.testing.assert_array_equal(seed, held)


class Point(NamedTuple):
    x: Any
    y: Any


class Pair:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y


CONTAINERS = {
    "tuple": (lambda x, y: (x, y), lambda t: t),
    "named tuple": (Point, lambda t: t),
    "list": (lambda x, y: [x, y], lambda t: t),
    "dictionary": (lambda x, y: {"x": x, "y": y}, lambda t: (t["x"], t["y"])),
    "nested": (lambda x, y: [(x,), {"y": [y]}], lambda t: (t[0][0], t[1]["y"][0])),
    "object": (Pair, lambda t: (t.x, t.y)),
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("form", ["rrule", "pullback"])
def test_parts_of_a_container_are_its_own(kind: str, form: str) -> None:
    make, parts = CONTAINERS[kind]

    def pair(x: Any) -> Any:
        return make(2 * x, 3 * x * x)

    def back(y_bar: Any, x: Any) -> Any:
        p, q = parts(y_bar)
        p *= 2
        q[...] = q * 6 * x
        return p + q

    if form == "rrule":
        wg.rrule(pair)(lambda x: (pair(x), lambda y_bar: back(y_bar, x)))
    elif "tuple" in kind:
        wg.vjp_rule(pair)(lambda y_bar, y, x: back(y_bar, x))
    else:
        return  # a rule of this form gives one value, or a tuple

    def total(x: Any) -> Any:
        p, q = parts(pair(x))
        return np.sum((p + q) + x)

    np.testing.assert_allclose(wg.grad(total)(A), 3 + 6 * A)
    got = wg.grad(lambda x: np.sum(wg.grad(total)(x) * x))(A)
    np.testing.assert_allclose(got, 3 + 12 * A)


def test_an_accumulator_gets_its_own() -> None:
    def half(x: Any) -> Any:
        return x / 2

    @wg.vjp_rule(half)
    def half_rule(y_bar, y, x):
        return y_bar / 2

    @wg.accumulates(half, arg=0)
    def half_onto(x_bar, y_bar, y, x):
        y_bar /= 2
        x_bar += y_bar
        return x_bar

    x = np.ones(5)
    np.testing.assert_allclose(wg.grad(lambda x: np.sum((half(x) + half(x)) + (half(x) + x)))(x), np.full(5, 2.5))


def test_no_copy_is_made_for_a_rule_that_only_computes() -> None:
    def f(x: Any) -> Any:
        return 2 * x

    @wg.vjp_rule(f)
    def f_rule(y_bar, y, x):
        return y_bar * 2

    assert wg.rules[f].variant((True,)).call.__code__.co_name == "f_rule"
