"""ase: energies of atoms; forces are the package's own gradients."""

import numpy as np
from ase import Atoms
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.calculators.morse import MorsePotential
from case import case

P = np.array([[0.0, 0, 0], [1.2, 0.1, 0], [0.2, 1.1, 0.3]])


def atoms(p, calc, symbols="Ar3"):
    a = Atoms(symbols, positions=p)
    a.calc = calc
    return a


@case(P, exact=lambda p: -atoms(p, LennardJones()).get_forces())
def lennard_jones(p):
    return atoms(p, LennardJones()).get_potential_energy()


@case(P * 2, exact=lambda p: -atoms(p, MorsePotential()).get_forces())
def morse(p):
    return atoms(p, MorsePotential()).get_potential_energy()


@case(P * 2.3, exact=lambda p: -atoms(p, EMT(), "Cu3").get_forces())
def effective_medium(p):
    return atoms(p, EMT(), "Cu3").get_potential_energy()


@case(P)
def distances(p):
    return atoms(p, None).get_distance(0, 2) + atoms(p, None).get_angle(1, 0, 2)


@case(P)
def centre_of_mass(p):
    return atoms(p, None).get_center_of_mass()


@case(P)
def inertia(p):
    return atoms(p, None).get_moments_of_inertia()[1:]
