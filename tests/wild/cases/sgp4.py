"""sgp4: the Python propagator."""

import numpy as np
from case import case
from sgp4.earth_gravity import wgs72
from sgp4.io import twoline2rv
from sgp4.propagation import sgp4

S = "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991"
T = "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482"


@case(12.0)
def position(minutes):
    r, _ = sgp4(twoline2rv(S, T, wgs72), minutes)
    return np.array(r)
