"""Programs of `programs.py` that draw random numbers: the draws are those of the plain run, and constant."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import numpy as np
from program_table import Programs

program = Programs()

V = np.array([0.7, 1.3, 0.4])
A = np.array([[1.0, 0.5, -0.25], [0.125, 2.0, 0.75]])


@program(0.7, 1.3)
def one_number_at_a_time(m, s):
    rng = np.random.default_rng(3)
    total = rng.normal(m, s) * rng.laplace(m, s) + rng.gumbel(m, s) + rng.logistic(scale=s, loc=m)
    total += rng.exponential(s) * rng.rayleigh(s) + rng.uniform(m, s) + rng.gamma(2.0, s) * rng.normal()
    return total + rng.normal(loc=m) * rng.uniform(high=s) + rng.standard_normal() * m


@program(V, A)
def arrays_of_parameters(m, s):
    rng = np.random.default_rng(4)
    total = rng.normal(m, np.abs(s)).sum() + rng.laplace(m[0], 2.0, size=(2, 3)).ravel() @ np.arange(6.0)
    total += (rng.uniform(-np.abs(s), m) ** 2).sum() + rng.exponential(np.exp(s), (4, 2, 3))[1:, 0].sum()
    total += rng.gamma([1.0, 2.0, 3.0], m).prod() + rng.normal([m[0], 1.0, m[1]], m).sum()
    return total + rng.normal(m, 0.1, None) @ m + rng.rayleigh(m, size=3).max()


@program(V)
def legacy_generators(m):
    rng = np.random.RandomState(5)
    state = np.random.get_state()
    np.random.seed(6)
    total = np.random.normal(m, 2.0).sum() * np.random.uniform(m[0], m[1]) + rng.laplace(m, m[::-1]).sum()
    np.random.set_state(state)
    return total + rng.exponential(m).prod() + rng.choice(m) * rng.permutation(m)[0]


@program(V, A)
def chosen_and_shuffled(v, a):
    rng = np.random.default_rng(7)
    w = np.arange(1.0, 4.0)
    total = rng.permutation(v) @ w + rng.permutation(a, axis=1)[0] @ w + (rng.permutation(a) * a).sum()
    total += (
        rng.choice(v)
        + rng.choice(v, 4) @ np.arange(4.0)
        + rng.choice(v, (2, 2), replace=False if len(v) > 4 else True).sum()
    )
    total += (
        rng.choice(a, 2, axis=1).ravel() @ np.arange(4.0)
        + rng.choice(v, 2, p=[0.5, 0.25, 0.25]).sum()
        + rng.choice([v[0], v[1]])
    )
    b, c, items = a * 2, v * v, [v[0], v[1], 3.0]
    rng.shuffle(b)
    rng.shuffle(c)
    rng.shuffle(items)
    rng.shuffle(b.T)
    rng.shuffle(a, axis=1)
    return total + b[0] @ w + c @ w + items[0] * items[1] + a[0] @ w


@program(V)
def reparameterised_estimate(m):
    rng = np.random.default_rng(8)
    z = m[0] + np.exp(m[1]) * rng.standard_normal(50)
    w = rng.normal(m[0], np.exp(m[1]), 50)
    return np.mean(np.sin(z) + w**2) + np.mean(rng.random(5) * m[2] > 0.2) + rng.integers(3) * m[2]


@program(np.array([0.4, -1.2]))
def draws_of_a_normal_vector(m):
    cov, rng = np.array([[2.0, 0.3], [0.3, 1.0]]), np.random.default_rng(3)
    total = (rng.multivariate_normal(m, cov) ** 2).sum() + rng.multivariate_normal([m[1], 2.0], cov, (2, 3)).prod()
    return total + np.random.RandomState(5).multivariate_normal(m, cov, size=4, tol=1e-6)[:, 1] @ np.ones(4)


@program(V)
def shapes_of_draws_in_closed_form(s):
    rng, old = np.random.default_rng(9), np.random.RandomState(9)
    total = rng.weibull(s + 1).prod() + rng.pareto(s[0] + 2, 3) @ s
    total += rng.power(a=s[1]) * rng.lognormal(s, sigma=0.5).sum()
    total += rng.triangular(-s[0], 0.1, [s[1], 2.0]).sum() + old.lognormal(sigma=s[2]) * old.weibull(s[0])
    return total + (rng.permuted(np.outer(s, s), axis=1)[0] ** 2).sum() + rng.permuted([s[0], s[1]])[0]
