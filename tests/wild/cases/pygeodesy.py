"""pygeodesy: places on ellipsoids, in plain Python."""

from case import case
from pygeodesy import cosineLaw, haversine, vincentys
from pygeodesy.ellipsoidalVincenty import LatLon


@case(44.3, 8.0)
def great_circle(lat, lon):
    return haversine(lat, lon, 45.5, 8.4) + cosineLaw(lat, lon, 46.0, 9.0)


@case(44.3, 8.0)
def geodesic(lat, lon):
    return LatLon(lat, lon).distanceTo(LatLon(45.5, 8.4))


@case(44.3, 8.0)
def vincentys_formula(lat, lon):
    return vincentys(lat, lon, 45.5, 8.4)
