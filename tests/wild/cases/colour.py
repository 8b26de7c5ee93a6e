"""colour-science: colour spaces and differences."""

import colour
import numpy as np
from case import case

RGB = np.array([0.3, 0.5, 0.2])


@case(RGB)
def srgb_to_xyz(x):
    return colour.sRGB_to_XYZ(x)


@case(RGB)
def xyz_to_lab(x):
    return colour.XYZ_to_Lab(x)


@case(np.array([50.0, 20.0, -10.0]))
def delta_e_2000(lab):
    return colour.delta_E(lab, np.array([52.0, 18.0, -12.0]), method="CIE 2000")


@case(np.array([50.0, 20.0, -10.0]))
def delta_e_1976(lab):
    return colour.delta_E(lab, np.array([52.0, 18.0, -12.0]), method="CIE 1976")


@case(RGB)
def ciecam(x):
    s = colour.XYZ_to_CIECAM02(x * 100, np.array([95.05, 100.0, 108.88]), 318.31, 20.0)
    return np.array([s.J, s.C])


@case(5500.0)
def chromaticity_of_daylight(t):
    return colour.temperature.CCT_to_xy_CIE_D(t)


@case(RGB)
def oklab(x):
    return colour.XYZ_to_Oklab(x)


@case(0.18)
def log_encoding(x):
    return colour.models.log_encoding_ACEScct(x)
