"""A rule of your own: for C code that cannot be seen into, and for Python that you know better how to differentiate."""

import numpy as np
from scipy.special import wrightomega

import wengert as wg


def kepler(mean, eccentricity):
    """The angle E with E - e sin E = M, by Newton's method."""
    angle = mean
    for _ in range(6):
        angle = angle - (angle - eccentricity * np.sin(angle) - mean) / (1.0 - eccentricity * np.cos(angle))
    return angle


def position(mean, eccentricity):
    return np.cos(kepler(mean, eccentricity))


_, tape = wg.trace(position, 1.0, 0.3)
plain = wg.grad(position, argnums=(0, 1))(1.0, 0.3)
print(f"Newton's steps are on the tape one by one: {len(tape)} lines, gradient {np.array(plain)}")


@wg.rrule(kepler)
def kepler_rule(mean, eccentricity):
    """E - e sin E = M  ⇒  dE (1 - e cos E) = dM + sin E de."""
    angle = kepler(mean, eccentricity)

    def kepler_pullback(angle_bar):
        mean_bar = angle_bar / (1.0 - eccentricity * np.cos(angle))
        return mean_bar, mean_bar * np.sin(angle)

    return angle, kepler_pullback


_, tape = wg.trace(position, 1.0, 0.3)
print(f"\nWith the rule there are {len(tape)}, gradient {np.array(wg.grad(position, argnums=(0, 1))(1.0, 0.3))}")
tape.show()
wg.test_rrule(kepler, 1.0, 0.3)  # raises where differences disagree

print("\nWith the call traced, its lines again and the guard:")
wg.rules.remove(kepler)
print(len(wg.primitivize(tape)))

wg.rules.remove(wrightomega)  # which has one
try:
    wg.grad(lambda x: wrightomega(x))(1.0)
except wg.NoRuleError as error:
    print(f"\nC code without a rule is refused, with a stub to paste:\n{error}")
