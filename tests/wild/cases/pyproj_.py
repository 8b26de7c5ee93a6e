"""pyproj: projections in C."""

import pyproj
from case import case

TO = pyproj.Transformer.from_crs(4326, 3857)


@case(45.0, 8.0)
def projected(lat, lon):
    return TO.transform(lat, lon)
