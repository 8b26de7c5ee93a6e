"""Names in the user's function are any names: none is taken for one of those in the text that runs."""

from __future__ import annotations

import linecache
import random
import re
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.tensor.running import native

NAMES = re.findall(
    r"\w+",
    """
e acc np inputs relations points dtype at rest i j k i0 i1 range max min divmod find first_of kernel kernel_1
walks space window contract_axes summed_at prange e_1 acc_1 v_1 any any_1 s0 t0 out t0_0 x_0c y_bar x_dot R_01_keys
np_1 sin tanh tanh_ from_1 to_1 i_strip in_x numba run slice float isinstance n m out_1 f0 x0 x1 _x __x x _ t ω
match type __debug
""",
)

SOURCE = """
def f({a}, {b}, {R}):
    {n} = len_({a})
    {y} = [
        np_.tanh({a}[{i}]) * {b}[{i}, 0] + sum({a}[{k}] * {b}[{i}, {k}] for {k} in range_({i}, {n}) if {R}[{i}, {k}])
        for {i} in range_({n})
    ]
    return sum(
        {y}[{i}] * {y}[{n} - 1 - {i}] * {a}[{i}] for {i} in range_({n}) if any_({R}[{i}, {k}] for {k} in range_({n}))
    )
"""


PLACES = ["a", "b", "R", "n", "y", "i", "k"]
SHUFFLED = random.Random(0).sample(NAMES, len(NAMES))
CHOSEN = [(SHUFFLED[k:] + SHUFFLED)[: len(PLACES)] for k in range(0, len(NAMES), len(PLACES))]
"""Each name once at least."""


def named(names: list[str]) -> Any:
    source, file = SOURCE.format(**dict(zip(PLACES, names, strict=True))), f"<names {' '.join(names)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np_": np, "range_": range, "len_": len, "any_": any}
    exec(compile(source, file, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_no_name_is_captured(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "has_numba", lambda: True)
    monkeypatch.setattr(native, "_compiled", native._interpreted)
    monkeypatch.setattr(native, "_threads", lambda: 1)
    for seed, names in enumerate(CHOSEN):
        f, rng = named(names), np.random.default_rng(seed)
        args = rng.normal(size=4), rng.normal(size=(4, 4)), rng.random((4, 4)) < 0.6
        tensor = wg.tensor.function(f, backend=backend)
        np.testing.assert_allclose(tensor(*args), f(*args), rtol=1e-9)
        for mine, theirs in zip(tensor.grad((0, 1))(*args), wg.ngradient(f, *args), strict=False):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


OF_THE_RULE = [
    "pullback", "differentiable_positions", "cotangent_parts", "iter", "tuple", "next", "range", "len", "args", "at",
    "found", "k", "y", "y_bar",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_THE_RULE)
def test_a_parameter_may_have_any_name_of_the_rule(name: str) -> None:
    source, file = f"def f({name}, other):\n    return sum(v * v for v in {name})\n", f"<rule with {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {}
    exec(compile(source, file, "exec"), space)
    f = wg.tensor.function(backend="numpy")(space["f"])
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(wg.grad(lambda x: f(x, 1.0) ** 2)(x), 4.0 * np.sum(x * x) * x)
    np.testing.assert_allclose(wg.hessian(lambda x: f(x, 1.0))(x), 2.0 * np.eye(3))
