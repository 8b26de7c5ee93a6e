"""iapws: steam tables."""

from case import case
from iapws import IAPWS97
from iapws.iapws97 import _PSat_T, _Region1, _Region2


@case(420.0)
def saturation_pressure(t):
    return _PSat_T(t)


@case(420.0, 3.0)
def region_one(t, p):
    return _Region1(t, p)["h"]


@case(600.0, 1.0)
def region_two(t, p):
    return _Region2(t, p)["s"]


@case(420.0, 3.0)
def enthalpy(t, p):
    return IAPWS97(T=t, P=p).h
