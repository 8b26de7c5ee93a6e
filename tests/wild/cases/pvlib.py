"""pvlib: irradiance, cells, airmass."""

import numpy as np
import pvlib
from case import case


@case(np.array([30.0, 60.0]))
def airmass(zenith):
    return pvlib.atmosphere.get_relative_airmass(zenith)


@case(np.array([800.0, 300.0]), np.array([25.0, 10.0]))
def pvwatts(g, t):
    return pvlib.pvsystem.pvwatts_dc(g, t, 100.0, -0.004)


@case(np.array([20.0, 50.0]))
def incidence_angle_modifier(aoi):
    return pvlib.iam.physical(aoi) + pvlib.iam.ashrae(aoi)


@case(800.0, 25.0)
def sapm_cell(poa, t):
    return pvlib.temperature.sapm_cell(poa, t, 2.0, -3.47, -0.0594, 3)


@case(30.0, 150.0)
def angle_of_incidence(tilt, azimuth):
    return pvlib.irradiance.aoi(tilt, azimuth, 40.0, 170.0)


@case(5.0)
def single_diode(iph):
    return pvlib.pvsystem.i_from_v(20.0, iph, 1e-9, 0.3, 200.0, 1.3)


@case(40.0)
def perez_sky(dhi):
    return pvlib.irradiance.haydavies(30.0, 180.0, dhi, 600.0, 1300.0, 40.0, 170.0)
