"""geographiclib: geodesics in plain Python."""

from case import case
from geographiclib.geodesic import Geodesic


@case(45.0, 8.0)
def inverse(lat, lon):
    return Geodesic.WGS84.Inverse(lat, lon, 45.5, 8.4)["s12"]


@case(30.0, 1000.0)
def direct(azimuth, s):
    return Geodesic.WGS84.Direct(45.0, 8.0, azimuth, s)["lat2"]
