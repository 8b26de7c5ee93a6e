"""Sums over nothing, in one another, beside one another: a plan executes no more than they cost, mostly nothing."""

from __future__ import annotations

import linecache
import os
import random
from typing import Any

import numpy as np
import pytest
from tensor_counting import counted

import wengert as wg
from wengert.tensor.planning.plan import plan

SUMS = [
    "sum({} for k in range(0))", "sum({} for k in range(n) if k < 0)", "sum({} for k in range(n) if R[j, k])",
    "sum({} for k in range(j, j))", "sum({} for k in range(n) if k < j and j < k)",
    "sum({} for k in range(n) if any(R[k, m] for m in range(n)))", "sum({} for k in range(n) if Q[k])",
    "sum({} for k in range(n) if not any(S[k, m] for m in range(n)))",
    "sum({} for k in range(n) if all(R[k, m] for m in range(n)))",
    "sum({} for k in range(n) for m in range(k) if R[k, m])", "sum(({} if R[j, k] else 0.0) for k in range(n))",
    "sum({} for k in range(n) if 2 * k == 2 * j + 1)",
]  # fmt: skip
BODIES = [
    "x[k]", "x[k] + x[j]", "x[k] * x[j] + y[k]", "(x[k] + y[k]) + (x[j] + y[j])", "np.sin(x[k] + x[j])",
    "sum(x[k] + y[l] for l in range(n))", "(x[k] + x[j]) / (y[k] + y[j])",
]  # fmt: skip
WHOLES = [
    "sum({0} for j in range(n))", "[{0} for j in range(n)]", "sum({0} + x[j] for j in range(n))",
    "sum({0} + {0} for j in range(n))", "sum({0} * x[j] + {1} for j in range(n))",
    "sum((x[j] + y[j]) * {0} for j in range(n))", "sum(np.sin({0}) for j in range(n))",
    "sum({0} + {0} for j in range(n) if R[j, j])",
]  # fmt: skip
COUNT = int(os.environ.get("WENGERT_TENSOR_EXAMPLES", 20))


def written(seed: int) -> Any:
    rng = random.Random(seed)

    def some() -> str:
        return rng.choice(SUMS).format(rng.choice(BODIES))

    whole = rng.choice(WHOLES)
    lines = ["def f(x, y, R, S, Q):", "    n = len(x)"]
    if rng.random() < 0.5:
        lines.append(f"    t = [{some()} for j in range(n)]")
        lines.append(f"    return {whole.format('t[j]', some())}")
    else:
        lines.append(f"    return {whole.format(some(), some())}")
    source, file = "\n".join(lines) + "\n", f"<sums over nothing {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), space)
    return space["f"], source


@pytest.mark.parametrize("seed", range(COUNT))
def test_no_more_is_executed_than_it_costs(seed: int) -> None:
    (f, source), n = written(seed), 4
    x = np.arange(1.0, n + 1)
    args = (x, x + 0.5, np.zeros((n, n), bool), np.ones((n, n), bool), np.zeros(n, bool))
    tensor, value = wg.tensor.function(f, backend="numpy"), f(*args)
    np.testing.assert_allclose(tensor(*args), value, rtol=1e-12, err_msg=source)
    given = [(tensor, args), (tensor.pullback((0, 1)), (*args, np.ones(np.shape(value))[()]))]
    for g, at in [*given, (tensor.differential((0, 1)), (*args, x, x))]:
        instance = g.instance(at)
        values, relations = instance.values(g.given(at))
        entries = {name: r.entries for name, r in relations.items()}
        counts = {name: r.count for name, r in entries.items()}
        for known, optimise in ((counts, True), ({}, True), (counts, False)):
            made = plan(instance.ssa, instance.sizes, known, optimise)
            _, operations = counted(made, {f"in.{name}": v for name, v in values.items()}, entries)
            assert operations.total() <= instance.cost(relations), source
