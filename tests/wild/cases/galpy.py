"""galpy: potentials of galaxies."""

import numpy as np
from case import case
from galpy import potential
from galpy.util import coords


@case(1.1, 0.2)
def miyamoto_nagai(r, z):
    p = potential.MiyamotoNagaiPotential(amp=1.0, a=0.5, b=0.1)
    return p(r, z) + p.Rforce(r, z)


@case(1.1, 0.2)
def nfw(r, z):
    return potential.NFWPotential(amp=1.0, a=2.0)(r, z)


@case(0.8)
def rotation_velocity(r):
    return potential.vcirc(potential.MWPotential2014, r)


@case(1.2, 0.4)
def logarithmic_halo(r, q):
    return potential.LogarithmicHaloPotential(normalize=1.0, q=q)(r, 0.1)


@case(np.array([1.0, 0.5, 0.2]))
def coordinates(x):
    return np.array(coords.rect_to_cyl(x[0], x[1], x[2]))
