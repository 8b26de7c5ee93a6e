"""pymap3d: coordinates of places."""

import pymap3d
from case import case


@case(45.0, 8.0, 200.0)
def geodetic_to_ecef(lat, lon, h):
    return pymap3d.geodetic2ecef(lat, lon, h)


@case(45.0, 8.0, 200.0)
def geodetic_to_enu(lat, lon, h):
    return pymap3d.geodetic2enu(lat, lon, h, 45.1, 8.1, 0.0)


@case(30.0, 20.0, 1000.0)
def aer_to_geodetic(a, e, r):
    return pymap3d.aer2geodetic(a, e, r, 45.0, 8.0, 100.0)


@case(4.5e6, 6.3e5, 4.4e6)
def ecef_to_geodetic(x, y, z):
    return pymap3d.ecef2geodetic(x, y, z)


@case(45.0, 8.0)
def vincenty(lat, lon):
    from pymap3d.vincenty import vdist

    return vdist(lat, lon, 45.5, 8.4)
