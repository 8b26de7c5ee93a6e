"""control: transfer functions, state spaces, responses."""

import control
import numpy as np
from case import case


@case(1.5, 0.4)
def gain_at_a_frequency(w, z):
    g = control.tf([w * w], [1.0, 2 * z * w, w * w])
    return abs(g(1j * 0.8))


@case(1.5, 0.4)
def dc_gain_of_feedback(k, a):
    return control.feedback(control.tf([k], [1.0, a]), 1).dcgain()


@case(0.4)
def state_space_response(a):
    s = control.ss([[-a, 1.0], [0.0, -1.0]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]])
    return control.step_response(s, np.linspace(0, 2, 5))[1]


@case(0.4)
def poles_of(a):
    return np.real(control.tf([1.0], [1.0, 3.0 + a, a]).poles())


@case(0.8)
def lqr_gain(q):
    k, _, _ = control.lqr(np.array([[0.0, 1.0], [0.0, -0.5]]), np.array([[0.0], [1.0]]), np.diag([q, 1.0]), np.eye(1))
    return k


@case(np.array([0.3, -0.2]))
def lyapunov(d):
    return control.lyap(np.array([[-1.0, 0.5], [0.0, -2.0]]), np.diag(1 + d))
