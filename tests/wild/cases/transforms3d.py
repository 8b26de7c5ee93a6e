"""transforms3d: matrices, Euler angles, quaternions."""

import numpy as np
from case import case
from transforms3d import affines, axangles, euler, quaternions


@case(0.3, 0.4, -0.2)
def euler_to_matrix(a, b, c):
    return euler.euler2mat(a, b, c, "sxyz")


@case(0.3, 0.4, -0.2)
def there_and_back(a, b, c):
    return np.array(euler.mat2euler(euler.euler2mat(a, b, c)))


@case(0.3, 0.4, -0.2)
def euler_to_quaternion(a, b, c):
    return euler.euler2quat(a, b, c)


@case(np.array([1.0, 0.4, -0.3, 0.2]))
def quaternion_to_matrix(q):
    return quaternions.quat2mat(q)


@case(np.array([1.0, 0.4, -0.3, 0.2]))
def quaternion_products(q):
    return quaternions.qmult(q, quaternions.qinverse(q) + [0.1, 0, 0, 0.3])


@case(0.7)
def axis_angle(a):
    return axangles.axangle2mat([1.0, 0.2, 0.3], a)


@case(np.array([1.0, 2.0, 3.0]))
def composed_affine(t):
    return affines.compose(t, np.eye(3), [1.0, 2.0, 0.5], [0.1, 0.0, 0.2])


@case(0.4)
def quaternion_of_matrix(a):
    return quaternions.mat2quat(euler.euler2mat(a, 0.1, 0.2))
