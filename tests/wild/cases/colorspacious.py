"""colorspacious: conversions."""

import numpy as np
from case import case
from colorspacious import cspace_convert, deltaE

X = np.array([[0.3, 0.5, 0.2], [0.7, 0.1, 0.4]])


@case(X)
def cam02ucs(x):
    return cspace_convert(x, "sRGB1", "CAM02-UCS")


@case(X)
def lab(x):
    return cspace_convert(x, "sRGB1", "CIELab")


@case(X)
def difference(x):
    return deltaE(x, X[::-1], input_space="sRGB1")
