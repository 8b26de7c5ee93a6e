"""What is derived from a rule's body: variants, what they read, and the steps on floats."""

from __future__ import annotations

import functools
import linecache
import math
import textwrap
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import is_of_numpy

import wengert_rules  # noqa: F401 -- enters the rules that the steps are tested on
from wengert.errors import RuleError
from wengert.rulebook.declare import adjoint
from wengert.rulebook.registry import rules
from wengert.rulebook.rule_variants import RuleBody
from wengert.rulebook.steps import scalar_step
from wengert.rulebook.syntax import definition
from wengert.values.specs import spec_of

SCALE = 3.0


def multiply(y, a, b):
    return b, a


def add(y, a, b):
    return 1, 1.0


def subtract(y, a, b):
    return 1, -1


def power(y, a, b):
    """Both partials, one of which is not defined for negative a."""
    lower = b * a ** (b - 1)
    log_a = np.log(a)
    return lower, y * log_a


def matmul(y_bar, y, a, b):
    return y_bar @ adjoint(b), adjoint(a) @ y_bar


def total(y_bar, y, a, *, axis=None, keepdims=False):
    if axis is not None and not keepdims:
        y_bar = np.expand_dims(y_bar, axis)
    return np.broadcast_to(y_bar, np.shape(a))


def branching(y_bar, y, a, b):
    if np.ndim(a) == 1:
        left = y_bar * b
        right = y_bar * a
    elif np.ndim(a) == 0:
        left, right = y_bar, -y_bar
    else:
        rows = a.shape[0]
        left, right = y_bar * rows, None
    with np.errstate(all="ignore"):
        unread = np.log(a)  # noqa: F841
        return left, right


def joined(y_bar, y, *arrays, axis=0):
    ends = np.cumsum([np.shape(a)[axis] for a in arrays])
    return tuple(np.split(y_bar, ends[:-1], axis))


@pytest.mark.parametrize(
    ("rule", "kind", "wanted", "source", "read", "read_y"),
    [
        (multiply, "partials", (True, False), "return (times(y_bar, b), None)",
         ("nothing", "value"), "nothing"),
        (multiply, "partials", (True,), "return (times(y_bar, b),)", ("nothing",), "nothing"),
        (add, "partials", (True, True), "return (y_bar, y_bar)", ("nothing", "nothing"), "nothing"),
        (subtract, "partials", (False, True), "return (None, -y_bar)", ("nothing", "nothing"), "nothing"),
        (power, "partials", (True, False), "lower = b * a ** (b - 1)\nreturn (times(y_bar, lower), None)",
         ("value", "value"), "nothing"),
        (power, "partials", (False, True), "log_a = np.log(a)\nreturn (None, times(y_bar, y * log_a))",
         ("value", "nothing"), "value"),
        (matmul, "pullback", (False, True), "return (None, adjoint(a) @ y_bar)",
         ("value", "nothing"), "nothing"),
        (total, "pullback", (False,), "return (None,)", ("nothing",), "nothing"),
    ],
)  # fmt: skip
def test_a_variant_holds_only_what_the_wanted_cotangents_need(
    rule: Any, kind: str, wanted: Any, source: str, read: Any, read_y: str
) -> None:
    variant = RuleBody(rule, kind).variant(wanted)
    assert textwrap.dedent("\n".join(variant.source.splitlines()[1:])) == source
    assert (variant.reads, variant.reads_y) == (read, read_y)


def test_a_variant_computes_what_the_rule_says() -> None:
    a, b = np.array([[1.0, 2j]]), np.array([[3.0], [4.0 + 1j]])
    y_bar = np.array([[2.0 - 1j]])
    both = RuleBody(matmul, "pullback").variant((True, True)).call(y_bar, None, a, b)
    assert np.allclose(both[0], y_bar @ b.conj().T) and np.allclose(both[1], a.conj().T @ y_bar)
    only = RuleBody(matmul, "pullback").variant((True, False)).call(y_bar, None, None, b)
    assert only[1] is None and np.array_equal(only[0], both[0])
    assert RuleBody(multiply, "partials").variant((True, False)).call(2.0, None, None, 1j) == (-2j, None)
    assert RuleBody(add, "partials").variant((True, True)).call(2.0, None, None, None) == (2.0, 2.0)


def test_a_variant_without_the_dead_branch_warns_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = RuleBody(power, "partials").variant((True, False)).call(1.0, None, np.array([-2.0]), 2.0)
    assert got[0] == [-4.0]


def test_a_variant_gives_numpys_answer_where_python_raises() -> None:
    variant = RuleBody(power, "partials").variant((True, False))
    with np.errstate(all="ignore"):
        assert variant.call(1.0, None, 0.0, 0.5) == (math.inf, None)


def test_shapes_are_enough_where_only_shapes_are_read() -> None:
    variant = RuleBody(total, "pullback").variant((True,))
    assert variant.reads == ("shape",)
    y, kept = variant.residuals(np.ones(3), (np.ones((2, 3), np.float32),))
    assert y is None and kept == (spec_of(np.ones((2, 3), np.float32)),)
    assert np.array_equal(variant.call(np.arange(3.0), y, *kept, axis=0)[0], [[0, 1, 2], [0, 1, 2]])
    assert RuleBody(joined, "pullback").variant((True, True)).reads == ("shape", "shape")


def test_branches_on_shapes_keep_what_is_read_in_them() -> None:
    left = RuleBody(branching, "pullback").variant((True, False))
    assert left.reads == ("shape", "value") and "unread" not in left.source
    assert left.call(2.0, None, np.ones((3, 1)), None) == (6.0, None)
    assert left.call(2.0, None, np.ones(1), 5.0) == (10.0, None)
    nothing = RuleBody(branching, "pullback").variant((False, False))
    assert nothing.reads == ("nothing", "nothing") and "if" not in nothing.source


def test_the_rest_of_a_tuple_assignment_stays() -> None:
    def rule(y_bar, y, a):
        m, n = np.shape(a)
        m = m + m
        s = 0.0
        s += m
        for k in range(2):
            last = k  # noqa: F841
        return (y_bar * n,)

    variant = RuleBody(rule, "pullback").variant((True,))
    assert "m, n = np.shape(a)" in variant.source and "s +=" not in variant.source
    assert "last = k" in variant.source  # loops are kept whole
    assert variant.reads == ("shape",)


def test_closures_globals_and_defaults_are_the_rules_own() -> None:
    factor = 2.0

    def rule(y_bar, y, a, b=10.0, *, power=1):
        return y_bar * factor * SCALE * b**power, None

    body = RuleBody(rule, "pullback")
    variant = body.variant((True,))
    assert variant.source is not None
    assert variant.call(1.0, None, 0.0) == (60.0,)
    assert variant.call(1.0, None, 0.0, 1.0, power=2) == (6.0,)
    factor = 3.0
    assert variant.call(1.0, None, 0.0) == (90.0,)


def test_names_of_the_rule_do_not_clash_with_those_of_the_engine() -> None:
    def rule(y, y_bar, times):
        g = times
        return g * 2, y_bar

    body = RuleBody(rule, "partials")
    assert body.variant((True, True)).call(10.0, None, 3.0, 4.0) == (80.0, 30.0)
    bars = [None, None]
    scalar_step(body, (True, True))(10.0, (None, 0.0, (0, 1), (3.0, 4.0), None, None), bars)
    assert bars == [80.0, 30.0]


def test_a_nested_function_keeps_its_returns_and_decorators() -> None:
    def twice(f):
        return lambda x: f(f(x))

    def rule(y_bar, y, a):
        @twice
        def step(x):
            return x + a

        return step(y_bar)

    variant = RuleBody(rule, "pullback").variant((True,))
    assert variant.call(1.0, None, 2.0) == (5.0,)


def make(source: str, name: str = "rule") -> Any:
    namespace: dict[str, Any] = {"np": np}
    exec(source, namespace)
    return namespace[name]


def test_a_rule_without_source_is_called_whole() -> None:
    rule = make("def rule(y, a, b):\n    return b, a\n")
    assert definition(rule) is None
    variant = RuleBody(rule, "partials").variant((False, True))
    assert variant.call(2.0, None, 3.0, 4.0) == (None, 6.0)
    assert variant.reads == ("value", "value") and variant.reads_y == "value" and variant.source is None
    single = RuleBody(make("def rule(y_bar, y, a):\n    return y_bar * 2\n"), "pullback").variant((True,))
    assert single.call(2.0, None, None) == (4.0,)
    bars = [1.0, None]
    scalar_step(RuleBody(rule, "partials"), (True, True))(2.0, (None, 12.0, (0, 0), (3.0, 4.0), None, None), bars)
    assert bars == [15.0, None]


def test_a_result_that_is_not_written_out_is_taken_apart_at_run_time() -> None:
    def rule(y_bar, y, a, b):
        results = [y_bar * b, y_bar * a]
        return tuple(results)

    variant = RuleBody(rule, "pullback").variant((False, True))
    assert variant.call(2.0, None, 3.0, 4.0) == (None, 6.0) and variant.reads_y == "nothing"
    split = RuleBody(joined, "pullback").variant((True, False, True))
    bars = split.call(np.arange(5.0), None, *map(np.ones, (1, 3, 1)))
    assert bars[1] is None and bars[0] == [0.0] and bars[2] == [4.0]

    def many(y_bar, y, a):
        return y_bar, y_bar

    with pytest.raises(RuleError, match="2 results for 1 argument"):
        RuleBody(many, "pullback").variant((True,)).call(1.0, 0, 0)


def test_source_that_changed_after_the_import_is_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    file.write_text("def rule(y, a):\n    return 2 * a\n")
    rule = make_from(file)
    assert definition(rule) is not None
    file.write_text("def rule(y, a):\n    return 3 * a\n")
    linecache.checkcache(str(file))
    assert definition(rule) is None
    assert RuleBody(rule, "partials").variant((True,)).call(1.0, None, 5.0) == (10.0,)


def make_from(file: Path) -> Any:
    namespace: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    return namespace["rule"]


def test_a_variant_shows_the_rules_own_lines_in_a_traceback() -> None:
    def rule(y_bar, y, a, b):
        return y_bar, a @ b

    try:
        RuleBody(rule, "pullback").variant((False, True)).call(1.0, None, 1.0, 1.0)
    except TypeError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
    assert (last.filename, last.lineno) == (__file__, rule.__code__.co_firstlineno + 1)


def test_a_rule_takes_the_cotangent_and_the_result_first() -> None:
    for kind, bad in [("pullback", lambda y_bar: None), ("partials", lambda: None)]:
        with pytest.raises(RuleError, match=f"a {kind} rule must take y"):
            RuleBody(bad, kind)
    with pytest.raises(RuleError, match="Python function"):
        RuleBody(math.sin, "rrule")


def of_each_kind(y_bar, /, y, a, b=2.0, *rest, wanted, scale=SCALE, **more):
    return None


@pytest.mark.parametrize("rule", [of_each_kind, multiply, lambda *parts: parts, lambda *, scale=1.0: scale])
def test_the_parameters_of_a_rule_are_those_of_its_signature(rule: Any) -> None:
    read, given = ("names", "defaults", "variadic", "static", "asks", "open"), functools.wraps(rule)(lambda *args: None)
    by_code, by_signature = (RuleBody(f, "rrule") for f in (rule, given))
    assert [getattr(by_code, name) for name in read] == [getattr(by_signature, name) for name in read]


# Steps.


def entry(ins: Any, *args: float, y: float = 0.0) -> Any:
    return (None, y, ins, args, None, None)


def test_a_step_unpacks_what_it_reads_and_nothing_else() -> None:
    step = scalar_step(RuleBody(multiply, "partials"), (True, False))
    assert isinstance(step, types.FunctionType)
    assert "".join(linecache.getlines(step.__code__.co_filename)).splitlines()[:4] == [
        "def step(g, e, cotangents):",
        "    i = e[2][0]",
        "    b = e[3][1]",
        "    try:",
    ]
    bars = [None, 1.0]
    step(2.0, entry((0, None), 3.0, 4.0), bars)
    step(2.0, entry((1, None), 3.0, 4.0), bars)
    assert bars == [8.0, 9.0]


def test_a_step_whose_arguments_are_one_variable_adds_twice() -> None:
    bars = [None]
    scalar_step(RuleBody(multiply, "partials"), (True, True))(2.0, entry((0, 0), 3.0, 3.0), bars)
    assert bars == [12.0]


def test_a_step_falls_back_on_numpy_where_python_raises_and_adds_once() -> None:
    def divide(y, a, b):
        return 1 / b, -y / b

    bars = [1.0, 1.0]
    step = scalar_step(RuleBody(divide, "partials"), (True, True))
    with np.errstate(all="ignore"):
        step(1.0, entry((0, 1), 1.0, 0.0, y=math.inf), bars)
    assert bars == [math.inf, -math.inf]
    with np.errstate(all="ignore"):
        bars = [None]
        scalar_step(RuleBody(power, "partials"), (False, True))(1.0, entry((None, 0), 0.0, 2.0, y=1.0), bars)
    assert bars == [-math.inf]


def test_a_step_uses_math_and_early_returns() -> None:
    def rule(y, x):
        if x > 0:
            return np.cos(x) * np.pi
        return np.where(x < -1, np.conj(x), 1j if np.iscomplexobj(y) else 0.0)

    step = scalar_step(RuleBody(rule, "partials"), (True,))
    text = "".join(linecache.getlines(step.__code__.co_filename))
    assert "complex" not in text
    assert "math_cos(x) * 3.14" in text and "np." not in text
    for x in (0.5, -0.5, -2.0):
        bars = [None]
        step(2.0, entry((0,), x), bars)
        assert type(bars[0]) is float and bars[0] == 2.0 * float(rule(1.0, x))


@pytest.mark.parametrize(
    "source",
    [
        "def rule(y, x):\n    return (x >= 0) + (x <= 0)\n",
        "def rule(y, x):\n    low = x <= 0\n    return (x >= 0) * 1.0 + (low + low)\n",
        "def rule(y, x):\n    return ~(x > 0) * 1.0\n",
        "def rule(y, x):\n    return np.ones(x.shape, x.dtype)\n",
    ],
)
def test_a_step_means_on_floats_what_numpy_means(source: str, tmp_path: Path) -> None:
    file = tmp_path / "rule.py"
    file.write_text("import numpy as np\n" + source)
    rule = make_from(file)
    assert definition(rule) is not None
    bars = [None]
    scalar_step(RuleBody(rule, "partials"), (True,))(1.0, entry((0,), 0.0, y=0.0), bars)
    assert bars[0] == float(rule(np.float64(0.0), np.float64(0.0)))


OF_NUMBERS = [f for f in rules if rules[f].kind == "partials" and is_of_numpy(f) and f.__name__ != "__new__"]
PARTIALS = sorted({rules[f] for f in OF_NUMBERS}, key=lambda rule: rule.name)


@pytest.mark.parametrize("rule", PARTIALS, ids=lambda rule: rule.name)
def test_the_step_of_every_rule_agrees_with_its_variant(rule: Any) -> None:
    n = len(rule.analysis.names)
    if n > 2:
        return
    for wanted in [(True,)] if n == 1 else [(True, True), (True, False), (False, True)]:
        for xs in [(0.3, 0.7), (-0.4, 2.0), (0.0, 1.0), (1.5, 1.5), (-2.0, -3.0)]:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    y = rule.targets[0](*map(np.float64, xs[:n]))
                except ValueError:  # math, outside a function's domain
                    continue
                if not isinstance(y, float) or math.isnan(y):
                    continue
                expected = rule.variant(wanted).call(np.float64(1.3), y, *map(np.float64, xs[:n]))
                bars = [None] * n
                rule.scalar_step(wanted)(1.3, entry(tuple(range(n)), *xs[:n], y=float(y)), bars)
            for got, right in zip(bars, expected, strict=True):
                assert (got is None) == (right is None)
                assert got is None or np.isclose(got, right, rtol=1e-14, atol=0, equal_nan=True), (xs, wanted)
