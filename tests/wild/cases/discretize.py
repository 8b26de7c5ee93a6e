"""discretize: operators on meshes."""

import discretize
import numpy as np
from case import case

MESH = discretize.TensorMesh([4, 3])


@case(np.linspace(0, 1, MESH.nC) ** 2)
def gradient_energy(m):
    g = MESH.cell_gradient @ m
    return 0.5 * np.sum(g**2)


@case(np.linspace(1, 2, MESH.nC))
def face_inner_product(m):
    u = np.ones(MESH.nF)
    return u @ (MESH.get_face_inner_product(m) @ u)
