"""Code of rules that a later process reads is the code that it would generate."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats  # with their rules

import wengert as wg
from wengert.rulebook import moved_pullbacks
from wengert.rulebook.array_steps import array_step
from wengert.rulebook.forward_steps import forward_step
from wengert.rulebook.kept_rules import KeptRule, kept_rule
from wengert.rulebook.registry import rules
from wengert.rulebook.rule_variants import RuleBody

SCRIPT = """
import ast
import numpy as np
import scipy.special
import scipy.stats
import wengert as wg

parsed = []
parse = ast.parse
ast.parse = lambda text, *args, **options: ("def foo(" in text or parsed.append(text), parse(text, *args, **options))[1]

# but for the `foo` of inspect.signature

def f(x):
    y = float(x[0])
    for k in range(5):
        y = y * 0.9 + np.sin(y) / (1.0 + y * y)
    z = np.tanh(x) @ np.outer(x, np.exp(x)) @ np.cumsum(x)
    return y + z + np.sum(scipy.special.gammaln(x)) + np.sum(scipy.stats.norm.logpdf(x)) + np.linalg.norm(x)

x = np.array([0.5, 1.5, 2.0])
for _ in range(10):
    found = wg.grad(f)(x)
second = [wg.hvp(f)(x, x).tolist(), wg.hessian(lambda x: np.sum(x**x * np.log(x)))(x).tolist()]
print(found.tolist(), wg.jvp(f, (x,), (x,))[1], len(parsed) > 0, second)
"""


def bodies() -> list[RuleBody]:
    wg.grad(lambda x: np.sum(scipy.special.gammaln(x)))(np.ones(2))
    found = {id(rule): rule for rule in map(rules.get, rules) if rule is not None and rule.analysis is not None}
    return [rule.analysis for rule in found.values() if kept_rule(rule.analysis.function, rule.analysis.kind)]


def test_all_that_is_kept_of_our_rules_is_what_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def compared(self: KeptRule, make: Callable[[], Any], key: tuple[Any, ...]) -> Any:
        value = make()
        again = marshal.loads(marshal.dumps(value))
        assert again == value, (self.pack.path, key)
        made.append(key)
        return again

    monkeypatch.setattr(KeptRule, "get", compared)
    for old in bodies():
        body = RuleBody(old.function, old.kind)
        count = min(len(body.names), 2)
        for wanted in list(product((False, True), repeat=count))[1:]:
            body.variant(wanted)
            if body.multiplies:
                body.pushing(wanted)
                body.pushing(wanted, keeps=True)
                forward_step(body, wanted, body.pushing)
            array_step(body, wanted, True, None, print, print)
            array_step(body, wanted, False, 100, print, print)
        if body.inlines and count:
            body.passes_on(0)
    moved_pullbacks._of_helper.cache_clear()
    for rule in {id(rule): rule for rule in map(rules.get, rules) if rule and rule.analysis}.values():
        count = len(rule.analysis.names)
        for moves in ((True, False), (False, True)):
            moved_pullbacks._of_rule(rule, (True,) * count, (*moves, *[True] * count))
    moved_pullbacks._of_helper.cache_clear()
    assert len(made) > 2500


def test_keys_tell_entries_apart() -> None:
    keys: dict[bytes, Any] = {}
    for body in bodies():
        entries = kept_rule(body.function, body.kind)
        assert entries is not None
        assert keys.setdefault(entries.key, body.function.__code__) == body.function.__code__


def test_rules_of_others_and_closures_are_not_kept() -> None:
    def made(n: float) -> Callable[..., Any]:
        def body(y: float, x: float) -> float:
            return n

        return body

    def own(y: float, x: float) -> float:
        return x

    assert kept_rule(own, "partials") is None
    assert kept_rule(made(1.0), "partials") is None
    assert RuleBody(made(1.0), "partials").variant((True,)).call(1.0, None, 0.0) == (1.0,)
    assert RuleBody(made(2.0), "partials").variant((True,)).call(1.0, None, 0.0) == (2.0,)


def test_a_later_process_generates_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    paths = [str(Path(__file__).parents[2] / folder) for folder in ("src", "rules")]
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    own |= {"PYTHONPATH": os.pathsep.join(paths), "WENGERT_CACHE": str(tmp_path / "cache")}
    first, second = (
        subprocess.run([sys.executable, script], env=own, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first.replace("True", "False") == second
    assert "True" in first


def test_kept_code_follows_the_rules_that_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The derivative of the pullback of a power has that of a logarithm in it."""

    def product() -> Any:
        return wg.hvp(lambda x, b: np.sum(x**b), (X, B), (np.ones(2), np.zeros(2)))[1]

    X, B = np.array([0.5, 2.0]), np.array([1.5, 2.5])
    kept = product()
    np.testing.assert_allclose(kept, X ** (B - 1) * (1 + B * np.log(X)), rtol=1e-14)
    with wg.rules.scope():
        wg.rules.remove(np.log)
        wg.partials(np.log)(lambda y, x: 2 / x)
        changed = product()
        np.testing.assert_allclose(changed, X ** (B - 1) * (2 + B * np.log(X)), rtol=1e-14)
        monkeypatch.setattr(KeptRule, "get", lambda self, make, key: make())
        np.testing.assert_array_equal(product(), changed)
    np.testing.assert_array_equal(product(), kept)
