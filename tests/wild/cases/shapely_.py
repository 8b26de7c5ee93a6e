"""shapely: geometry in C."""

import numpy as np
from case import case
from shapely import Polygon


@case(np.array([[0.0, 0.0], [1.0, 0.1], [0.4, 1.2]]))
def area(p):
    return Polygon(p).area
