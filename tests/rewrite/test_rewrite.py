"""The rewriter: same results, every site hooked in the right order, every opcode accounted for."""

# ruff: noqa: C416, PIE800, PIE804 (the functions under test say things the long way)

from __future__ import annotations

import importlib
import opcode
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

import pytest
from bytecode import Bytecode, Instr
from plain_hooks import PLAIN
from rewrite_programs import PROGRAMS

import wengert as wg
from wengert.errors import BytecodeError
from wengert.rewrite import instrument, original
from wengert.rewrite.hook_names import HOOK_NAMES
from wengert.rewrite.opcodes_311 import OPERATORS
from wengert.rewrite.rewriting import rewritten
from wengert.rewrite.storing import called_at, reads_for_update, stored_in
from wengert.rewrite.tables import VERSIONS, real_opcodes, running_table, table_for
from wengert.values.sites import Site


def twin(f: FunctionType, hooks: dict[str, Callable]) -> FunctionType:
    made = FunctionType(instrument(f.__code__, hooks), f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__ = f.__kwdefaults__
    return made


def enter(f: object, site: Site) -> object:
    """A `resolve` that instruments every Python function that is called."""
    if type(f) is MethodType:
        return MethodType(enter(f.__func__, site), f.__self__)
    return twin(f, DEEP) if type(f) is FunctionType else f


DEEP = {**PLAIN, "resolve": enter}


def recorder(log: list) -> dict[str, Callable]:
    def recording(name: str, hook: Callable) -> Callable:
        def record(*args: object) -> object:
            log.append((name, *args[:-1]))
            return hook(*args)

        return record

    return {name: recording(name, hook) for name, hook in PLAIN.items()}


def recorded(f: Callable, *args: object) -> list:
    log: list = []
    assert twin(f, recorder(log))(*args) == f(*args)
    return log


def all_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from all_codes(constant)


@pytest.mark.parametrize("hooks", [PLAIN, DEEP], ids=["shallow", "deep"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_do_the_same(name: str, hooks: dict[str, Callable]) -> None:
    f = PROGRAMS[name]
    assert repr(twin(f, hooks)()) == repr(f())


MODULES = (
    "argparse dataclasses statistics collections heapq fractions textwrap json.decoder inspect functools "
    "contextlib colorsys asyncio.tasks typing unittest.mock rewrite_programs"
)
KEPT = (
    "co_name co_qualname co_filename co_firstlineno co_flags co_freevars co_cellvars co_varnames co_argcount "
    "co_kwonlyargcount co_posonlyargcount co_nlocals"
)


@pytest.mark.parametrize("module", MODULES.split())
def test_corpus_is_rewritten_and_keeps_its_facts(module: str) -> None:
    file = importlib.import_module(module).__file__
    with open(file, encoding="utf-8") as source:
        codes = list(all_codes(compile(source.read(), file, "exec")))
    for code in codes:
        new = instrument(code, PLAIN)
        assert original(new) is code
        for fact in KEPT.split():
            assert getattr(new, fact) == getattr(code, fact)
        assert nested(new) == nested(code)
        assert positions(new) == positions(code)
        assert Bytecode.from_code(new).compute_stacksize() <= new.co_stacksize


def nested(code: CodeType) -> set[int]:
    return {id(constant) for constant in code.co_consts if isinstance(constant, CodeType)}


def positions(code: CodeType) -> set:
    """Where the instructions stand in the source, to the column."""
    words = zip(code.co_code[::2], code.co_positions(), strict=True)
    return {place for op, place in words if opcode.opname[op] not in ("CACHE", "EXTENDED_ARG")}


def stdlib_texts() -> object:
    import textwrap

    return textwrap.wrap("some words, which are-hyphenated, to wrap at " * 9, 31), textwrap.dedent("  a\n    b\n")


def stdlib_statistics() -> object:
    import statistics as s

    data = [2.5, 1.0, 4.25, 9.0, 1.5]
    return (
        s.median(data),
        s.stdev(data),
        s.quantiles(data),
        s.linear_regression(data, data[::-1]),
        s.NormalDist(1, 2).cdf(3),
    )


def stdlib_fractions() -> object:
    from fractions import Fraction as F

    return (
        F(3, 4) ** 2 + F("1.25") / 3 - F(2.5),
        F(22, 7).limit_denominator(5),
        float(F(1, 3)),
        F(1, 3) < F(1, 2),
        hash(F(1, 3)),
    )


def stdlib_arguments() -> object:
    import argparse

    parser = argparse.ArgumentParser(prog="p", description="what it does " * 9)
    parser.add_argument("-x", "--ex", type=int, default=3, help="a number (default: %(default)s)")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--on", action="store_true")
    group.add_argument("--off", dest="on", action="store_false")
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("run").add_argument("files", nargs="*")
    return vars(parser.parse_args(["--ex=4", "--off", "run", "a", "b"])), parser.format_help()


def stdlib_json() -> object:
    import json
    import json.encoder
    import json.scanner

    class Decoder(json.JSONDecoder):
        def __init__(self) -> None:
            super().__init__()
            self.parse_string = json.decoder.py_scanstring
            self.scan_once = json.scanner.py_make_scanner(self)

    data = {"a": [1, 2.5, None, True, {"b": 'é"\n'}], "c": {}, "d": -1e300}
    encoder = json.JSONEncoder(indent=2, sort_keys=True)
    text = "".join(encoder.iterencode(data))
    return text, Decoder().decode(text), json.encoder.py_encode_basestring_ascii("é\n")


def stdlib_dataclass() -> object:
    import dataclasses

    @dataclasses.dataclass(order=True, frozen=True)
    class P:
        x: int
        y: list = dataclasses.field(default_factory=list, compare=False)

    p = P(3)
    return repr(p), p < P(4), dataclasses.asdict(dataclasses.replace(p, x=5)), dataclasses.fields(P)[0].name


def stdlib_rest() -> object:
    import collections
    import colorsys
    import functools
    import heapq
    import inspect

    Pair = collections.namedtuple("Pair", "a b")
    heap = list(heapq.merge([1, 4], [2, 3], key=lambda v: v)) + heapq.nsmallest(2, [3, 1, 2])
    chain = collections.ChainMap({"a": 1}, {"b": 2})
    signature = str(inspect.signature(functools.partial(lambda a, b=2, *c, d, **e: a, d=1)))
    ordered = collections.OrderedDict.fromkeys("abc")
    return (
        Pair(1, b=2)._replace(a=5),
        heap,
        dict(chain),
        colorsys.rgb_to_hls(0.2, 0.4, 0.6),
        signature,
        list(ordered),
    )


STDLIB = [value for name, value in list(globals().items()) if name.startswith("stdlib_")]


@pytest.mark.parametrize("f", STDLIB, ids=lambda f: f.__name__)
def test_standard_library_runs_instrumented(f: FunctionType) -> None:
    assert repr(twin(f, DEEP)()) == repr(f())


def test_binary_and_unary_operands() -> None:
    assert recorded(lambda a, b: -((a - b) ** 2), 5, 3) == [("sub", 3, 5), ("pow", 2, 2), ("neg", 4)]
    assert recorded(lambda a, b: (a < b, a in (1, b)), 5, 3) == [("lt", 3, 5), ("contains", (1, 3), 5)]

    def in_place(a, b):
        a -= b
        return a

    assert recorded(in_place, 5, 3) == [("isub", 3, 5)]


def test_items_and_slices() -> None:
    def f(a):
        a[0] = a[1]
        a[1:2] = a[:1]
        del a[0]
        return a

    log: list = []
    assert twin(f, recorder(log))([1, 2, 3]) == [2, 3]
    a = [2, 3]
    assert log == [
        ("getitem", 1, a), ("setitem", a, 0, 2), ("getitem", slice(None, 1), a),
        ("setitem", a, slice(1, 2), [2]), ("delitem", 0, a),
    ]  # fmt: skip


def test_attributes_and_calls() -> None:
    class Box:
        value = 1

        def get(self, k):
            return self.value + k

    def f(box):
        box.value = 2
        seen = box.get(box.value), box.get(k=3)
        del box.value
        return seen

    box = Box()
    log = recorded(f, box)
    assert [entry[0] for entry in log] == "setattr getattr getattr resolve getattr resolve delattr".split()
    assert log[:3] == [("setattr", box, 2, "value"), ("getattr", box, "get"), ("getattr", box, "value")]
    assert log[3] == ("resolve", box.get) and log[-1] == ("delattr", box, "value")


@pytest.mark.parametrize(
    "f",
    [
        lambda g: g(),
        lambda g: g(1, 2),
        lambda g: g(1, k=2),
        lambda g: g(*(1,), **{"k": 2}),
        lambda g: g(*[1]),
        lambda g: g(**{"k": 1}),
        lambda g: (g)(1 if g else 2, k=3 if g else 4),
    ],
)
def test_every_form_of_call_resolves_its_callable(f: FunctionType) -> None:
    def g(*args, **kwargs):
        return args, kwargs

    def h(*args, **kwargs):
        return "exchanged", args, kwargs

    hooks = {**PLAIN, "resolve": lambda f, site: h if f is g else f}
    assert twin(f, hooks)(g) == f(h)


def test_calls_without_null_resolve_their_callable() -> None:
    def f(dec, items):
        @dec
        def g():
            return 1

        assert items, "no"
        return g, [i for i in items], {i for i in items}, sorted(i for i in items)

    def dec(g):
        return g.__name__

    called = [entry[1] for entry in recorded(f, dec, [1]) if entry[0] == "resolve"]
    assert dec in called and sorted in called
    with pytest.raises(AssertionError, match="no"):
        twin(f, recorder(called))(dec, [])
    assert called[-1] == ("resolve", AssertionError)


def test_truth_is_asked_once_and_not_of_bools() -> None:
    def f(a, b):
        if a < b and a:
            return a in (b,) or not b or a is b or b
        return None

    names = [entry[0] for entry in recorded(f, 1, 2)]
    negation = ["truth"] if sys.version_info >= (3, 13) else ["not_"]
    assert names == ["lt", "truth", "truth", "contains", *negation, "is_"]
    assert recorded(lambda a: a is None or a is not True, 1) == []
    assert [entry[0] for entry in recorded(lambda a: a or 3, 0.0)] == ["truth"]


def test_iteration() -> None:
    def f(a, b):
        for _ in a:
            pass
        x, *y = b
        (z,) = a
        return [*a, x], {**{"k": z}}, [i for i in b], y

    log = recorded(f, (1,), (2, 3))
    assert [e for e in log if e[0] == "iterable"] == [("iterable", a) for a in [(1,), (2, 3), (1,), (1,), (2, 3)]]
    assert ("mapping", {"k": 1}) in log  # though fresh from a display: a traced key decides what it replaces
    assert recorded(lambda d: {**d}, {1: 2}) == [("mapping", {1: 2})]
    log = recorded(lambda f, d: f(**d), dict, {"a": 2})
    assert log == [("mapping", {"a": 2}), ("iterable", ()), ("resolve", dict)]


def test_formatting() -> None:
    def f(x, w):
        return f"{x!r:>{w}}{x}"

    log = recorded(f, 1.5, 6)
    fields = [entry for entry in log if entry[0] != "join"]  # 3.12.1 joins an empty text to the spec as well
    first = [("convert", 1.5, 2), ("format", 6, "")]
    assert fields[:2] == first if sys.version_info >= (3, 13) else first[::-1]
    assert fields[2:] == [("format", "1.5", ">6"), ("format", 1.5, "")]
    assert log[-1] == ("join", ("   1.5", "1.5"))


def test_with_and_super() -> None:
    import contextlib

    def f(m):
        with m as x:
            return x

    m = contextlib.nullcontext(3)
    assert recorded(f, m)[0] == ("context", m)

    class Base:
        def value(self):
            return 1

    class Child(Base):
        def value(self):
            return super().value()

    child = Child()
    log = recorded(Child.value, child)
    if sys.version_info >= (3, 12):
        assert log[0] == ("super_getattr", Child, child, super, "value", False)
    else:
        assert [entry[0] for entry in log] == ["resolve", "getattr", "resolve"]


def test_sites_name_the_line_and_are_shared() -> None:
    def f(a):
        b = a * a * a * a
        return b + 1

    sites = []
    hooks = {**PLAIN, **{name: lambda *args: sites.append(args[-1]) or 1 for name in ("mul", "add")}}
    twin(f, hooks)(2)
    line = f.__code__.co_firstlineno
    assert [site.line - line for site in sites] == [1, 1, 1, 2]
    assert sites[0] == Site(__file__, line + 1, f.__qualname__) and sites[0] is sites[1]
    assert sites[2] == sites[0] and sites[2].target == "b" and sites[2].called is None


def test_sites_name_the_variable_that_a_result_is_stored_in() -> None:
    def f(g, a, k):
        b = g.h(a, k=a + 1)
        c = d = -b
        if (e := g(a if k else b, c)) is None:
            a, b = k
        x, y = g(b)
        a += 1
        c = lambda: a
        d[0] = a * 2
        return d + e + x + y

    program = list(running_table().read(f.__code__))
    places = [k for k, item in enumerate(program) if isinstance(item, Instr)]
    found = [(stored_in(program, k), called_at(program, k)) for k in places]
    assert [pair for pair in found if pair[0]] == [("b", "h"), ("c", None), ("e", None), ("a", None)]


def test_the_reads_of_updates_of_items_are_found() -> None:
    def f(a, b, key):
        a[key] += b[key] + a[key]
        a[b[key]] -= 1
        a.part[key:2] *= b[0]
        a, b[key] = b[1], key
        a += b[2]
        return a[key] < b[key] < 3

    program = list(running_table().read(f.__code__))
    line = f.__code__.co_firstlineno
    found = [
        item.location.lineno - line
        for k, item in enumerate(program)
        if isinstance(item, Instr) and reads_for_update(program, k)
    ]
    assert found == [1, 2, 3]


def test_twins_are_kept_by_identity_and_lead_back() -> None:
    def f():
        return 1

    def g():
        return f.__name__

    code = g.__code__
    new = instrument(code, PLAIN)
    assert instrument(code, PLAIN) is new and original(new) is code and original(code) is None
    assert instrument(new, PLAIN) is new
    assert instrument(new, DEEP) is instrument(code, DEEP) is not new
    moved = code.replace(co_filename="elsewhere.py")
    assert instrument(moved, PLAIN).co_filename == "elsewhere.py"


def test_missing_hook_is_named() -> None:
    hooks = {name: hook for name, hook in PLAIN.items() if name != "getitem"}
    with pytest.raises(ValueError, match="getitem"):
        instrument((lambda: 0).__code__, hooks)


# The fence


def test_fence_names_every_opcode_of_this_python() -> None:
    table = running_table()
    assert set(table.hooked) | table.passed | table.refused == real_opcodes()


INTRINSICS = {
    "_intrinsic_1_descs": "1_INVALID PRINT IMPORT_STAR STOPITERATION_ERROR ASYNC_GEN_WRAP UNARY_POSITIVE LIST_TO_TUPLE "
    "TYPEVAR PARAMSPEC TYPEVARTUPLE SUBSCRIPT_GENERIC TYPEALIAS",
    "_intrinsic_2_descs": "2_INVALID PREP_RERAISE_STAR TYPEVAR_WITH_BOUND TYPEVAR_WITH_CONSTRAINTS "
    "SET_FUNCTION_TYPE_PARAMS SET_TYPEPARAM_DEFAULT",
    "_special_method_names": "__enter__ __exit__ __aenter__ __aexit__",
    "_common_constants": "AssertionError NotImplementedError tuple all any list set None True False -1 empty",
}


@pytest.mark.parametrize("family", INTRINSICS)
def test_fence_knows_what_one_opcode_can_stand_for(family: str) -> None:
    """Of these, UNARY_POSITIVE alone computes on values, and the methods of `with` are entered."""
    of_this_python = {str(getattr(one, "__name__", one)) or "empty" for one in getattr(opcode, family, ())}
    assert {name.removeprefix("INTRINSIC_") for name in of_this_python} <= set(INTRINSICS[family].split())


def test_fence_knows_the_operators() -> None:
    known = {f"NB_{name}" for name in OPERATORS} | {f"NB_INPLACE_{name}" for name in OPERATORS}
    assert {name for name, _ in opcode._nb_ops} == known | ({"NB_SUBSCR"} if sys.version_info >= (3, 14) else set())


@pytest.mark.parametrize("table", map(table_for, VERSIONS), ids=lambda table: str(table.version))
def test_fence_is_disjoint(table) -> None:
    groups = set(table.hooked), table.passed, table.refused
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert table.bools | table.plain <= set().union(*groups) | {
        "UNARY_NOT",
        "LIST_TO_TUPLE",
        "BUILD_CONST_KEY_MAP",
    }


def test_hook_names_are_those_of_the_tests() -> None:
    assert set(PLAIN) == HOOK_NAMES


def test_unknown_opcode_is_named_with_its_place() -> None:
    code = (lambda a: a + 1).__code__
    table = running_table()
    place = f"{code.co_filename}:{code.co_firstlineno}"
    hooked = {name: handler for name, handler in table.hooked.items() if name != "BINARY_OP"}
    version = "{}.{}".format(*table.version)
    with pytest.raises(BytecodeError, match=rf"{place} .*BINARY_OP of Python {version} is not known"):
        rewritten(code, PLAIN, table._replace(hooked=hooked))
    with pytest.raises(BytecodeError, match=r"BINARY_OP .* is not supported"):
        rewritten(code, PLAIN, table._replace(hooked=hooked, refused=frozenset({"BINARY_OP"})))


def test_unsupported_python_is_named() -> None:
    with pytest.raises(BytecodeError, match=r"Python 3\.10"):
        table_for((3, 10))


def test_a_new_python_is_refused_and_its_new_opcodes_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 16, 0, "final", 0))
    monkeypatch.setattr(opcode, "opmap", opcode.opmap | {"LOAD_DREAM": 254})
    with pytest.raises(BytecodeError, match=r"Python 3\.16, only .* LOAD_DREAM"):
        instrument((lambda a: a + 1).__code__, dict(PLAIN))


@pytest.mark.skipif(sys.version_info < (3, 13), reason="the syntax is new in 3.13")
def test_what_the_reader_of_bytecode_does_not_know_is_named() -> None:
    space: dict = {}
    exec("def f(x):\n    class Box[T = float]: pass\n    return x * x", space)
    with pytest.raises(BytecodeError, match=r"<string>:2 .*5 is not a valid Intrinsic2Op.* Define it outside"):
        wg.grad(space["f"])(2.0)


def test_no_native_site_is_left() -> None:
    """In the twins of all programs, what a hook replaces is gone."""
    gone = {
        "BINARY_SUBSCR",
        "STORE_SUBSCR",
        "LOAD_ATTR",
        "LOAD_METHOD",
        "STORE_ATTR",
        "COMPARE_OP",
        "CONTAINS_OP",
    }
    gone |= {
        "BINARY_OP",
        "BINARY_SLICE",
        "STORE_SLICE",
        "UNARY_NEGATIVE",
        "TO_BOOL",
        "FORMAT_VALUE",
        "BUILD_STRING",
    }
    gone |= {
        "FORMAT_SIMPLE",
        "FORMAT_WITH_SPEC",
        "CONVERT_VALUE",
        "DELETE_ATTR",
        "DELETE_SUBSCR",
        "LOAD_SUPER_ATTR",
        "BUILD_INTERPOLATION",
    }
    for f in PROGRAMS.values():
        for code in all_codes(f.__code__):
            left = {instr.name for instr in Bytecode.from_code(instrument(code, PLAIN)) if isinstance(instr, Instr)}
            assert not left & gone


def test_arguments_of_more_than_a_byte() -> None:
    """The names, and the jumps around them, need an EXTENDED_ARG."""
    lines = [f"        v{k} = v{k - 1} + {k}" for k in range(1, 300)]
    space: dict[str, Any] = {}
    head, end = ["def f(v0, n):", "    while n:", "        n -= 1"], ["        v0 = v299", "    return v0"]
    exec("\n".join([*head, *lines, *end]), space)
    twin = FunctionType(instrument(space["f"].__code__, PLAIN), {})
    assert [twin(2, n) for n in range(3)] == [2, 44852, 89702]
