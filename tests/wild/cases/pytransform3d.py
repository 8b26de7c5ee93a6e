"""pytransform3d: rotations and transformations."""

import numpy as np
from case import case
from pytransform3d import rotations as pr
from pytransform3d import transformations as pt


@case(np.array([0.3, 0.5, -0.2, 0.7]))
def matrix_from_axis_angle(a):
    return pr.matrix_from_axis_angle(np.hstack((pr.norm_vector(a[:3]), a[3:])))


@case(np.array([0.9, 0.3, -0.2, 0.1]))
def matrix_from_quaternion(q):
    return pr.matrix_from_quaternion(q)


@case(np.array([0.3, 0.5, -0.2]))
def compact_axis_angle(a):
    return pr.matrix_from_compact_axis_angle(a)


@case(np.array([0.3, 0.5, -0.2, 1.0, 2.0, 0.3]))
def exponential_coordinates(c):
    return pt.transform_from_exponential_coordinates(c)


@case(np.array([0.3, 0.5, -0.2]))
def euler(e):
    return pr.active_matrix_from_intrinsic_euler_xyz(e)


@case(0.3)
def slerp(t):
    a, b = np.array([1.0, 0, 0, 0]), pr.norm_vector(np.array([0.8, 0.2, 0.3, 0.1]))
    return pr.quaternion_slerp(a, b, t)
