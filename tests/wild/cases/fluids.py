"""fluids: friction, drag, fittings."""

import fluids
from case import case


@case(1e5, 1e-4)
def friction_factor(re, rough):
    return fluids.friction_factor(re, eD=rough)


@case(1e5)
def colebrook(re):
    return fluids.friction.Colebrook(re, 1e-4)


@case(200.0)
def drag(re):
    return fluids.drag_sphere(re)


@case(0.3)
def contraction(d):
    return fluids.contraction_sharp(Di1=1.0, Di2=d)


@case(0.6, 1.2)
def control_valve(h, v):
    return fluids.Reynolds(v, h, 1000.0, 1e-3) + fluids.Froude(v, h)


@case(8000.0)
def standard_atmosphere(z):
    a = fluids.ATMOSPHERE_1976(z)
    return a.T + a.P / 1e4 + a.rho


@case(0.4)
def orifice(d):
    return fluids.flow_meter.C_Reader_Harris_Gallagher(D=1.0, Do=d, rho=1.2, mu=1.8e-5, m=0.12)
