"""impedance: equivalent circuits."""

import numpy as np
from case import case
from impedance.models.circuits import CustomCircuit
from impedance.models.circuits.elements import CPE, C, R, W, p, s

F = np.array([1.0, 10.0, 100.0])


@case(10.0, 1e-3)
def randles(r, c):
    return np.abs(s([R([r], F), p([R([50.0], F), C([c], F)])]))


@case(1e-3, 0.8)
def constant_phase(q, a):
    return np.abs(CPE([q, a], F) + W([2.0], F))


@case(np.array([10.0, 50.0, 1e-3]))
def custom_circuit(x):
    c = CustomCircuit("R0-p(R1,C1)", initial_guess=list(x))
    return np.abs(c.predict(F, use_initial=True))
