"""spatialmath: poses."""

import numpy as np
from case import case
from spatialmath import SE3, UnitQuaternion, base


@case(0.3, 0.5)
def pose(a, x):
    return (SE3.Rx(a) * SE3.Trans(x, 1.0, 2.0)).A


@case(0.3, 0.5)
def transformed_point(a, x):
    return SE3.Rz(a) * np.array([x, 1.0, 2.0])


@case(0.3, 0.5, 0.2)
def roll_pitch_yaw(r, p, y):
    return base.rpy2r(r, p, y)


@case(0.3, 0.5, 0.2)
def there_and_back(r, p, y):
    return base.tr2rpy(base.rpy2r(r, p, y))


@case(0.3)
def unit_quaternion(a):
    return (UnitQuaternion.Rx(a) * UnitQuaternion.Ry(0.4)).vec


@case(np.array([0.3, 0.2, 0.1]))
def exponential(w):
    return base.trexp(w)


@case(0.4)
def logarithm(a):
    return base.trlog(base.rotx(a) @ base.roty(0.3), twist=True)
