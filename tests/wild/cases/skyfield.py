"""skyfield: positions and angles, without data files."""

import numpy as np
from case import case
from skyfield.api import wgs84
from skyfield.functions import from_spherical, rot_x, rot_z, to_spherical


@case(np.array([0.3, 0.5, 0.9]))
def spherical(v):
    return np.array(to_spherical(v))


@case(1.2, 0.4, 0.8)
def cartesian(r, t, p):
    return from_spherical(r, t, p)


@case(45.0, 8.0)
def place_on_earth(lat, lon):
    return wgs84.latlon(lat, lon, elevation_m=200.0).itrs_xyz.km


@case(0.4)
def rotations(a):
    return rot_x(a) @ rot_z(2 * a)
