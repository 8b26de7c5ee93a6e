"""xrft: spectra of xarray."""

import numpy as np
import xarray as xr
import xrft
from case import case


@case(np.sin(np.arange(8.0)))
def power_spectrum(x):
    a = xr.DataArray(x, dims="t", coords={"t": np.arange(8.0)})
    return xrft.power_spectrum(a, dim="t").values
