"""A posterior sampled by NUTS with a compiled gradient: eight schools; mici is the sampler (pip install mici)."""

import mici
import numpy as np

import wengert as wg

# Source: D. B. Rubin (1981), "Estimation in parallel randomized experiments", J. Educ. Stat. 6: what coaching for a
# test changed in each of eight schools, and the standard errors of that.
effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools(q):
    """What the effects scatter about, how much, and what they are; q is close to normal, and they are not."""
    mean, spread = q[0], np.exp(q[1])
    return mean, spread, mean + spread * q[2:]


def minus_log_posterior(q):
    """By the priors mean ~ N(0, 5) and spread ~ half-Cauchy(0, 5)."""
    mean, spread, each = schools(q)
    prior = (mean / 5) ** 2 / 2 + np.log(1 + (spread / 5) ** 2) - q[1] + np.sum(q[2:] ** 2) / 2
    return prior + np.sum(((effects - each) / errors) ** 2) / 2


gradient = wg.compile(wg.grad(minus_log_posterior))  # it is called some twenty thousand times
system = mici.systems.EuclideanMetricSystem(minus_log_posterior, grad_neg_log_dens=gradient)
rng = np.random.default_rng(1981)
sampler = mici.samplers.DynamicMultinomialHMC(system, mici.integrators.LeapfrogIntegrator(system), rng)
traces = sampler.sample_chains(
    300, 1000, rng.standard_normal((2, 10)), display_progress=False,
    trace_funcs=[lambda state: dict(zip(("mean", "spread", "each"), schools(state.pos), strict=True))],
).traces  # fmt: skip
mean, spread, each = [np.concatenate(traces[name]) for name in ("mean", "spread", "each")]

# Without sampling: given mean and spread, effect k is N(mean, spread² + errors[k]²), and two integrals are left.
m, s = np.meshgrid(np.linspace(-20, 30, 501), np.linspace(0.05, 60, 1200))
variances = s[..., None] ** 2 + errors**2
log_density = -np.sum((effects - m[..., None]) ** 2 / variances + np.log(variances), -1) / 2 - (m / 5) ** 2 / 2
weights = np.exp(log_density) / (1 + (s / 5) ** 2)
weights /= weights.sum()

for name, sample, grid in ("mean", mean, m), ("spread", spread, s):
    first = np.sum(weights * grid)
    expected = first, np.sqrt(np.sum(weights * (grid - first) ** 2))
    print(f"{name:6} by integration {expected[0]:.2f} ± {expected[1]:.2f}")
    print(f"{name:6} by sampling    {sample.mean():.2f} ± {sample.std():.2f}")
    assert np.allclose((sample.mean(), sample.std()), expected, atol=0.5)
print("by sampling the schools have", *[f"{effect:.0f}" for effect in each.mean(0)])
