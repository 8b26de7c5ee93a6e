"""trimesh: meshes with traced vertices."""

import numpy as np
import trimesh
from case import case

V = np.array([[0.0, 0, 0], [1, 0.1, 0], [0, 1.2, 0], [0.1, 0, 1.1]])
F = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@case(V)
def area(v):
    return trimesh.triangles.area(v[F])


@case(V)
def normals(v):
    return trimesh.triangles.normals(v[F])[0]


@case(V)
def volume_of_mesh(v):
    return trimesh.Trimesh(v, F, process=False).volume


@case(V)
def mass_properties(v):
    return trimesh.triangles.mass_properties(v[F])["inertia"]


@case(0.4)
def rotation(a):
    m = trimesh.transformations.rotation_matrix(a, [0.0, 1, 0.2], [1.0, 2, 3])
    return trimesh.transform_points(V, m)


@case(np.array([0.9, 0.3, -0.2, 0.1]))
def quaternion(q):
    return trimesh.transformations.quaternion_matrix(q)


@case(np.array([0.2, 0.3, 2.0]))
def barycentric(p):
    return trimesh.triangles.points_to_barycentric(V[F][:1], p[None])
