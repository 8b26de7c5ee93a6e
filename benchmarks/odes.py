"""Gradients and Jacobians of solve_ivp, as ratios to the solution: python benchmarks/odes.py [names].

With numba, they are compiled, too. With diffrax, they are compared with its derivatives by the
same method and tolerances: python benchmarks/odes.py diffrax.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
import time
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from clock import medians
from scipy.integrate import odeint, solve_ivp
from scipy.optimize import least_squares

import wengert as wg
from wengert.values.kernel_cache import has_compiler

REPEATS = 5


class Problem(NamedTuple):
    """The right-hand side f(t, y, p), parameters, initial values, times, and tolerances."""

    f: Callable[..., Any]
    p: np.ndarray
    y0: np.ndarray
    times: np.ndarray
    options: dict[str, Any]

    def solved(self, x: np.ndarray, method: str) -> np.ndarray:
        """The values at the times, for parameters and initial values in one vector."""
        p, y0 = x[: self.p.size], x[self.p.size :]
        span = 0.0, self.times[-1]
        return solve_ivp(self.f, span, y0, method, self.times, args=(p,), **self.options).y


def lotka_volterra(t, y, p):
    return [p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * y[0] * y[1]]


def robertson(t, y, p):
    a, b, c = p[0] * y[0], p[1] * y[1] * y[1], p[2] * y[1] * y[2]
    return [-a + c, a - b - c, b]


def hires(t, y, p):
    v = p[9] * y[5] * y[7]
    return np.array([
        -p[0] * y[0] + p[1] * y[1] + p[2] * y[2] + p[3],
        p[0] * y[0] - p[4] * y[1],
        -p[5] * y[2] + p[1] * y[3] + p[6] * y[4],
        p[2] * y[1] + p[0] * y[2] - p[7] * y[3],
        -p[8] * y[4] + p[1] * y[5] + p[1] * y[6],
        -v + p[10] * y[3] + p[0] * y[4] - p[1] * y[5] + p[10] * y[6],
        v - p[11] * y[6],
        -v + p[11] * y[6],
    ])  # fmt: skip


def reaction_diffusion(t, y, p):
    """100 cells of two species; p holds 50 rates of growth, one for each two cells."""
    u, v = y[:100], y[100:]
    uu, vv = np.concatenate((u[:1], u, u[-1:])), np.concatenate((v[:1], v, v[-1:]))
    eaten = u * v
    du = 2.0 * (uu[2:] - 2.0 * u + uu[:-2]) + np.repeat(p, 2) * u * (1.0 - u) - eaten
    dv = vv[2:] - 2.0 * v + vv[:-2] + 0.8 * eaten - 0.3 * v
    return np.concatenate((du, dv))


X = np.arange(100) / 100
STIFF = {"rtol": 1e-6, "atol": 1e-10}
PREY = Problem(
    lotka_volterra, np.array([0.55, 0.028, 0.84, 0.026]), np.array([33.0, 6.0]), np.linspace(0.0, 20.0, 100),
    {"rtol": 1e-7, "atol": 1e-7},
)  # fmt: skip
PROBLEMS = {
    "Lotka-Volterra": (PREY, ("RK23", "RK45", "DOP853", "LSODA")),
    "reaction-diffusion": (
        Problem(
            reaction_diffusion, np.linspace(0.8, 1.2, 50),
            np.concatenate([0.5 + 0.3 * np.sin(2 * np.pi * X), 0.4 + 0.2 * np.cos(4 * np.pi * X)]),
            np.linspace(0.0, 10.0, 20), {"rtol": 1e-6, "atol": 1e-8},
        ),
        ("RK45",),
    ),
    "Robertson": (
        Problem(robertson, np.array([0.04, 3e7, 1e4]), np.array([1.0, 0.0, 0.0]), np.logspace(-2, 4, 40), STIFF),
        ("Radau", "BDF", "LSODA"),
    ),
    "HIRES": (
        Problem(
            hires, np.array([1.71, 0.43, 8.32, 0.0007, 8.75, 10.03, 0.035, 1.12, 1.745, 280.0, 0.69, 1.81]),
            np.array([1.0, 0, 0, 0, 0, 0, 0, 0.0057]), np.linspace(0.0, 321.8122, 40), STIFF,
        ),
        ("Radau", "BDF", "LSODA"),
    ),
}  # fmt: skip


ADJOINTS = [
    ("Lotka-Volterra", "RK45"), ("reaction-diffusion", "RK45"), ("reaction-diffusion", "BDF"),
    ("reaction-diffusion", "LSODA"), ("Robertson", "BDF"), ("HIRES", "Radau"), ("HIRES", "LSODA"),
]  # fmt: skip
BATCHES = [
    *[("Lotka-Volterra", method) for method in ("RK23", "RK45", "DOP853")],
    *[(name, method) for name in ("Robertson", "HIRES") for method in ("Radau", "BDF")],
]  # fmt: skip
COLUMNS = ("gradient", "Jacobian", "differences", "compiled gradient", "compiled Jacobian")


def show(name: str, first: float, works: dict[str, Callable[[], Any]]) -> None:
    """Print the times of some works as ratios to that of the solution, and the seconds of the first gradient."""
    times = medians(works, REPEATS)
    base = times["solution"]
    ratios = "".join([f"{times[each] / base:10.3f}" if each in times else f"{'':10}" for each in COLUMNS])
    print(f"{name:28}{1e3 * base:9.1f} ms{ratios}{first:12.2f} s", flush=True)


def measure(name: str, problem: Problem, method: str) -> None:
    x = np.concatenate([problem.p, problem.y0])
    gradient = wg.grad(lambda x: np.sum(problem.solved(x, method) ** 2))
    jacobian = wg.jacobian(lambda x: problem.solved(x, method))
    start = time.perf_counter()
    gradient(x)
    first = time.perf_counter() - start
    works = {"solution": lambda: problem.solved(x, method), "gradient": lambda: gradient(x)}
    if has_compiler():
        fast_gradient, fast_jacobian = (wg.compile(f, strict=True) for f in (gradient, jacobian))
        works["compiled gradient"] = lambda: fast_gradient(x)
        works["compiled Jacobian"] = lambda: fast_jacobian(x)
    if x.size < 50:
        works["Jacobian"] = lambda: jacobian(x)
        works["differences"] = lambda: [problem.solved(x * (1 + 1e-7 * e), method) for e in np.eye(x.size + 1, x.size)]
    show(f"{name}, {method}", first, works)


def measure_odeint(name: str) -> None:
    problem, _ = PROBLEMS[name]
    x, k = np.concatenate([problem.p, problem.y0]), problem.p.size
    times = np.concatenate([[0.0], problem.times[problem.times > 0]])

    def solved(x):
        return odeint(problem.f, x[k:], times, (x[:k],), tfirst=True, **problem.options)

    gradient, jacobian = wg.grad(lambda x: np.sum(solved(x) ** 2)), wg.jacobian(solved)
    works = {"solution": lambda: solved(x), "gradient": lambda: gradient(x), "Jacobian": lambda: jacobian(x)}
    if has_compiler():
        fast_gradient, fast_jacobian = (wg.compile(f, strict=True) for f in (gradient, jacobian))
        works["compiled gradient"] = lambda: fast_gradient(x)
        works["compiled Jacobian"] = lambda: fast_jacobian(x)
    show(f"{name}, odeint", 0.0, works)


def measure_accuracy(method: str, rtol: float) -> None:
    """Print the largest errors of states and of the gradient by the logarithms of the unknowns, relative to the
    largest of each, in units of rtol, and their ratio. A tight solution is the oracle."""
    x = np.concatenate([PREY.p, PREY.y0])

    def solved(x: np.ndarray, method: str, tolerance: float) -> np.ndarray:
        return PREY._replace(options={"rtol": tolerance, "atol": tolerance}).solved(x, method)

    def error(f: Callable[..., Any]) -> float:
        wanted = f("DOP853", 1e-12)
        return float(np.max(np.abs(f(method, rtol) - wanted)) / np.max(np.abs(wanted)) / rtol)

    of_states = error(lambda *how: solved(x, *how))
    of_gradient = error(lambda *how: x * wg.grad(lambda x: np.sum(solved(x, *how) ** 2))(x))
    errors = f"states {of_states:6.1f} rtol   gradient {of_gradient:6.1f} rtol   ratio {of_gradient / of_states:6.1f}"
    print(f"Lotka-Volterra, {method:8}rtol {rtol:.0e}: {errors}")


def measure_batch(name: str, method: str) -> None:
    """Print the times of wg.vmap over 100 initial values and parameters, as ratios to those of loops."""
    random, (problem, _) = np.random.default_rng(0), PROBLEMS[name]
    ys, ps = [x * random.uniform(0.8, 1.2, (100, x.size)) for x in (problem.y0, problem.p)]
    values = lambda y, p: problem.solved(np.concatenate([p, y]), method)  # noqa: E731
    slope = wg.grad(lambda y, p: np.sum(values(y, p) ** 2), argnums=(0, 1))
    works = {
        "loop": lambda: [values(y, p) for y, p in zip(ys, ps, strict=True)],
        "vmap": lambda: wg.vmap(values)(ys, ps),
        "loop of gradients": lambda: [slope(y, p) for y, p in zip(ys, ps, strict=True)],
        "vmap of gradients": lambda: wg.vmap(slope)(ys, ps),
        "gradient of vmap": lambda: wg.grad(lambda y, p: np.sum(wg.vmap(values)(y, p) ** 2), argnums=(0, 1))(ys, ps),
    }
    times = medians(works, 2)
    ratios = "   ".join([f"{each} {times[each] / times['loop']:.3f}" for each in [*works][1:]])
    print(f"{f'{name}, {method}':26}{times['loop']:7.2f} s    {ratios}", flush=True)


def measure_adjoints(name: str, method: str) -> None:
    """Print the times of gradients by each derivative, of values at all times and at the last alone."""
    problem, _ = PROBLEMS[name]
    x = np.concatenate([problem.p, problem.y0])
    gradients = {
        "all times": wg.grad(lambda x: np.sum(problem.solved(x, method) ** 2)),
        "last": wg.grad(lambda x: np.sum(problem.solved(x, method)[:, -1] ** 2)),
    }

    def gradient(kind: str, asked: str) -> Any:
        with wg.ode_adjoint(kind):
            return gradients[asked](x)

    works: dict[str, Callable[[], Any]] = {"solution": lambda: problem.solved(x, method)}
    kinds = ("discrete", "forward", "continuous") if x.size < 50 else ("discrete", "continuous")
    for kind, asked in itertools.product(kinds, gradients):
        works[f"{kind}, {asked}"] = lambda kind=kind, asked=asked: gradient(kind, asked)
    times = medians(works, REPEATS)
    ratios = "   ".join([f"{each} {times[each] / times['solution']:6.2f}" for each in [*works][1:]])
    print(f"{f'{name}, {method}':26}{1e3 * times['solution']:7.1f} ms   {ratios}", flush=True)


def of_diffrax(problem: Problem) -> dict[str, Callable[[np.ndarray], Any]]:
    """The solution by RK45 of diffrax, its gradient and its Jacobian, compiled, in float64 on one thread."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    import diffrax
    import jax

    jax.config.update("jax_enable_x64", True)
    f = types.FunctionType(problem.f.__code__, {"np": jax.numpy})
    term, saved = diffrax.ODETerm(lambda t, y, p: jax.numpy.asarray(f(t, y, p))), diffrax.SaveAt(ts=problem.times)
    steps = diffrax.PIDController(**problem.options)

    def solved(x, adjoint):
        p, y0, end = x[: problem.p.size], x[problem.p.size :], problem.times[-1]
        words = {"saveat": saved, "stepsize_controller": steps, "adjoint": adjoint, "max_steps": 256}
        return diffrax.diffeqsolve(term, diffrax.Dopri5(), 0.0, end, None, y0, p, **words).ys

    backward, forward = diffrax.RecursiveCheckpointAdjoint(), diffrax.ForwardMode()
    return {
        "solution": jax.jit(lambda x: solved(x, backward)),
        "gradient": jax.jit(jax.grad(lambda x: (solved(x, backward) ** 2).sum())),
        "Jacobian": jax.jit(jax.jacfwd(lambda x: solved(x, forward))),
    }


def measure_diffrax(name: str) -> None:
    """Print the times of wengert as ratios to those of diffrax, and the seconds that diffrax compiles."""
    problem, _ = PROBLEMS[name]
    x = np.concatenate([problem.p, problem.y0])

    def solved(x):
        return problem.solved(x, "RK45")

    ours = {"solution": solved, "gradient": wg.grad(lambda x: np.sum(solved(x) ** 2)), "Jacobian": wg.jacobian(solved)}
    for kind, theirs in of_diffrax(problem).items():
        functions = {"diffrax": lambda x, f=theirs: f(x).block_until_ready(), "uncompiled": ours[kind]}
        if has_compiler():
            functions["compiled"] = wg.compile(ours[kind], strict=True)
        start = time.perf_counter()
        functions["diffrax"](x)
        first = time.perf_counter() - start
        times = medians({each: lambda f=f: f(x) for each, f in functions.items()}, REPEATS)
        ratios = "".join([f"{each} {times[each] / times['diffrax']:8.2f}   " for each in [*functions][1:]])
        print(f"{f'{name}, {kind}':32}{1e3 * times['diffrax']:8.2f} ms   {ratios}{first:8.2f} s", flush=True)


def fit() -> None:
    """The time of a fit by the Jacobian along the steps, as a ratio to that by differences."""
    true = np.concatenate([PREY.p, PREY.y0])
    noise = 0.05 * np.random.default_rng(1).normal(size=(2, 100))
    data = np.log(PREY.solved(true, "RK45")) + noise

    def residuals(x):
        return np.ravel(np.log(PREY.solved(x, "RK45")) - data)

    start = true * [1.1, 0.9, 1.1, 0.9, 1.05, 1.05]
    jacobian, both = wg.jacobian(residuals), wg.value_and_jacobian(residuals)
    fast, fast_jacobian = wg.compile(residuals), wg.compile(jacobian)
    latest = {}

    def solved(x):
        value, latest["jacobian"] = both(x)
        return value

    works = {
        "2-point": lambda: least_squares(residuals, start),
        "by wg.jacobian": lambda: least_squares(residuals, start, jacobian),
        "by wg.value_and_jacobian": lambda: least_squares(solved, start, lambda x: latest["jacobian"]),
    }
    if has_compiler():
        works["compiled"] = lambda: least_squares(fast, start, fast_jacobian)
    times, by_differences = medians(works, REPEATS), works["2-point"]()
    print(f"\nfit by differences {times['2-point']:.2f} s, {by_differences.nfev} evaluations")
    for name in [*works][1:]:
        print(f"{name} {times[name] / times['2-point']:.3f} of that, {works[name]().nfev} evaluations")


if __name__ == "__main__":
    asked = sys.argv[1:]
    heads = "".join([f"{head:>10}" for head in ("gradient", "Jacobian", "differ.", "c. grad.", "c. Jac.")])
    print(f"{'':28}{'solution':>12}{heads}{'first':>14}")
    for name, (problem, methods) in PROBLEMS.items():
        if not asked or name in asked:
            for method in methods:
                measure(name, problem, method)
    if not asked or "odeint" in asked:
        for name in ("Lotka-Volterra", "Robertson", "HIRES"):
            measure_odeint(name)
    if not asked or "batch" in asked:
        print("\nsolutions of 100 examples")
        for name, method in BATCHES:
            measure_batch(name, method)
    if not asked or "adjoints" in asked:
        print("\ngradients by wg.ode_adjoint")
        for name, method in ADJOINTS:
            measure_adjoints(name, method)
    if not asked or "accuracy" in asked:
        print("\nerrors")
        for method, rtol in itertools.product(("RK45", "DOP853", "LSODA", "Radau", "BDF"), (1e-5, 1e-7, 1e-9)):
            measure_accuracy(method, rtol)
    if "diffrax" in asked or (not asked and importlib.util.find_spec("diffrax")):
        print("\nratios to diffrax")
        for name in ("Lotka-Volterra", "reaction-diffusion"):
            measure_diffrax(name)
    if not asked or "fit" in asked:
        fit()
