"""scikit-rf: networks."""

import numpy as np
import skrf as rf
from case import case

F = rf.Frequency(1, 2, 3, "ghz")


@case(40.0, 1.0)
def reflection(r, inductance):
    s = rf.network.z2s((r + 1j * 2 * np.pi * F.f * 1e-9 * inductance).reshape(-1, 1, 1))
    return np.abs(s)


@case(np.array([0.3, 0.2, 0.5, 0.1]))
def s_to_t(x):
    return np.abs(rf.network.s2t(np.tile(x.reshape(1, 2, 2), (2, 1, 1))))


@case(0.2)
def cascade(x):
    s = np.zeros((3, 2, 2), complex) + np.array([[0.1, 0.9], [0.9, 0.1]])
    a = rf.Network(frequency=F, s=s * x)
    b = rf.Network(frequency=F, s=s)
    return (a**b).s_mag
