"""thermo: equations of state and activity models."""

import numpy as np
from case import case
from thermo import Wilson
from thermo.eos import PR


@case(300.0, 2e5)
def peng_robinson_volume(t, p):
    return PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=t, P=p).V_l * 1e4


@case(450.0)
def saturation_pressure(t):
    return PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=300.0, P=1e5).Psat(t) / 1e5


@case(330.0)
def wilson_activity(t):
    g = Wilson(T=t, xs=[0.3, 0.7], lambda_as=[[0, 0.1], [0.2, 0]], lambda_bs=[[0, 30.0], [-20.0, 0]])
    return np.array(g.gammas())
