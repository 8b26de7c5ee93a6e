"""Random draws in compiled functions: the same numbers as plain, in the same order, and the same state afterwards."""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.stats

import wengert as wg

X = np.array([0.3, -0.4])

DRAWS = [
    "np.sum(x * rng.normal(size=2)) * rng.uniform()",
    "np.sum(np.sin(x) * rng.normal(x, scale))",
    "np.sum(np.sin(x) * rng.normal(loc=x, scale=scale, size=(3, 2)))",
    "np.sum(x) * old.normal(x[0], 1.0) + old.rand()",
    "np.sum(x) * np.random.normal(x[0], 1.0) + np.random.rand()",
    "np.sum(x * np.random.default_rng(3).normal(size=2))",
    "np.sum(x * rng.exponential(x**2))",
    "np.sum(x) * rng.beta(2.0, 3.0) * rng.standard_normal() * held.rng.gumbel(scale)",
    "np.sum(scipy.stats.norm.rvs(loc=x, scale=scale, size=2, random_state=rng)) * x[0]",
    "np.sum(x) if rng.normal() > 0 else np.sum(x * x)",
    "np.sum(x) / (0.0 if rng.normal() > 0 else 2.0) * float(x[0] > 0 or 1 / 0)",
    "np.sum(sum([rng.normal(x[0], scale) for _ in range(n)]))",
    "np.sum(x * draw(size=2))",
    "np.sum(x * rng.multivariate_normal([0.0, scale], [[1.0, 0.0], [0.0, scale]]))",
    "np.sum(x * rng.dirichlet(alpha=np.array([1.0, 2.0])))",
    "np.sum(x) * rng.gamma(scale, size=(n,))[0] * rng.beta(a=scale, b=2.0)",
]


def space_of(body: str) -> dict[str, Any]:
    space = {"np": np, "scipy": scipy, "scale": 0.5, "n": 3, "held": types.SimpleNamespace()}
    seed(space, 0)
    exec(f"def f(x): return {body}\ndef g(x, rng, other): return {body} * other.normal()", space)
    return space


def seed(space: dict[str, Any], k: int) -> None:
    space["rng"], space["old"] = np.random.default_rng(k), np.random.RandomState(k)
    space["held"].rng, space["draw"] = np.random.default_rng(k + 1), space["rng"].normal


def outcomes(g: Any, space: dict[str, Any]) -> list[Any]:
    """What calls give while the arguments, the scale and the state of the generators change; the state at the end."""
    found: list[Any] = []
    np.random.seed(0)  # noqa: NPY002 (what is tested)
    for k in range(8):
        space["scale"], space["n"] = 0.5 + 0.1 * k, 3 + k // 6
        if k == 5:
            seed(space, 9)
        try:
            value, bar = g(X * (1 - k))
            found += [value, bar]
        except ZeroDivisionError:
            found.append("raises")
    numbers = [space["rng"].random(), space["old"].random(), space["held"].rng.random()]
    return [*found, numbers, np.random.rand()]  # noqa: NPY002


def assert_same(got: list[Any], want: list[Any]) -> None:
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a == b if isinstance(a, str) else np.allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("body", DRAWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_draws_are_those_of_the_function(body: str) -> None:
    plain, space = space_of(body), space_of(body)
    g = wg.compile(wg.value_and_grad(space["f"]), strict=True)
    assert_same(outcomes(g, space), outcomes(wg.value_and_grad(plain["f"]), plain))


def test_generators_as_arguments() -> None:
    space = space_of("np.sum(np.sin(x) * rng.normal(x, 0.5))")
    plain = wg.value_and_grad(space["g"])
    g = wg.compile(plain, strict=True)
    for k in range(6):
        given, wanted = ([np.random.default_rng(seed) for seed in (k, k + 1)] for _ in range(2))
        if k > 3:
            given[1], wanted[1] = given[0], wanted[0]
        got, want = g(X, *given), plain(X, *wanted)
        assert_same([*got, given[0].random()], [*want, wanted[0].random()])
    assert g.explain().startswith("g: compiled (NumPy), 2 traces")
    assert "reads a1.normal()" in g.explain()


def test_a_draw_is_an_input_and_no_trace() -> None:
    space = space_of(DRAWS[0])
    g = wg.compile(wg.grad(space["f"]))
    assert len({g(X)[0] for _ in range(10)}) == 10
    assert g.explain().startswith("f: compiled (NumPy), 1 trace")


REFUSED = [
    ("np.sum(x) * rng.choice(['a', 'b']).count('a')", "not numbers"),
    ("np.sum(x) * np.random.default_rng().normal()", "without a seed"),
    ("np.sum(x) + float(rng.shuffle([1, 2]) is None)", "shuffles a list"),
    ("np.sum(x) + float(np.random.seed([0, 1]) is None)", "seeds a generator with other than an integer"),
    ("np.sum(x) * rng.bit_generator.random_raw()", "reads .bit_generator"),
    ("np.sum(x) * rng.gamma(x[0] ** 2 + 1)", "parameters that it computes"),
    ("np.sum(x) * rng.weibull(np.exp(x))[0]", "parameters that it computes"),
]


@pytest.mark.parametrize(("body", "words"), REFUSED)
def test_what_else_is_done_with_generators_runs_as_it_is(body: str, words: str) -> None:
    plain, space = space_of(body), space_of(body)
    h, g = wg.value_and_grad(plain["f"]), wg.compile(wg.value_and_grad(space["f"]))
    with warnings.catch_warnings(record=True, action="always", category=wg.NotCompiledWarning) as told:
        if "default_rng()" in body:
            g(X)
        else:
            assert_same([*g(X), *g(X)], [*h(X), *h(X)])
    assert len(told) == 1
    assert any(word in str(told[0].message) for word in words.split("|"))


FROM_SEEDED = [
    "rng.gamma(t)", "rng.gamma(2.0, t)", "rng.standard_gamma(t, 2)[1]", "rng.chisquare(t)", "rng.beta(t, 2.0)",
    "rng.dirichlet(np.array([1.0, 2.0]) * t)[0]", "rng.standard_t(t)", "rng.f(t, 3.0)", "rng.noncentral_f(t, 3.0, 1.0)",
    "rng.noncentral_chisquare(t, 1.0)", "rng.vonmises(t, t)", "rng.wald(t, 1.0)", "rng.lognormal(t, t)",
    "rng.triangular(0.0, t, 5.0)", "rng.weibull(t)", "rng.power(t)", "rng.pareto(t)", "rng.uniform(0.1, t)",
    "rng.normal(t, t)", "rng.multivariate_normal(np.array([t, 1.0]), np.array([[2.0 * t, 0.1], [0.1, 1.0]]))[0]",
    "scipy.stats.gamma.rvs(t, random_state=rng)", "scipy.stats.invgauss.rvs(t, random_state=rng)",
]  # fmt: skip


@pytest.mark.parametrize("body", FROM_SEEDED)
@pytest.mark.parametrize("made", ["np.random.default_rng(3)", "np.random.RandomState(3)"])
@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_generators_with_a_seed_draw_anew_at_other_parameters(made: str, body: str) -> None:
    space: dict[str, Any] = {"np": np, "scipy": scipy}
    exec(f"def f(t):\n rng = {made}\n return {body} * t", space)
    f, g = space["f"], wg.compile(wg.value_and_grad(space["f"]))
    for t in (1.5, 1.7, 1.4, 2.9, 0.8):
        assert np.allclose(g(t), wg.value_and_grad(f)(t), rtol=1e-12)
        assert g(t)[0] == pytest.approx(f(t), rel=1e-12)
