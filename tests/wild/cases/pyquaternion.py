"""pyquaternion: quaternions with traced parts."""

import numpy as np
from case import case
from pyquaternion import Quaternion


@case(0.6)
def rotated_by_angle(a):
    return Quaternion(axis=[1.0, 0.5, 0.2], angle=a).rotate(np.array([1.0, 2.0, 3.0]))


@case(np.array([1.0, 0.4, -0.3, 0.2]))
def products(q):
    a = Quaternion(q)
    return (a * Quaternion(0.5, 1.0, 0.0, 0.2) * a.inverse).elements


@case(np.array([1.0, 0.4, -0.3, 0.2]))
def matrix(q):
    return Quaternion(array=q).normalised.rotation_matrix


@case(0.3)
def slerp(t):
    a, b = Quaternion(axis=[1, 0, 0], angle=0.2), Quaternion(axis=[0, 1, 0], angle=1.2)
    return Quaternion.slerp(a, b, t).elements
