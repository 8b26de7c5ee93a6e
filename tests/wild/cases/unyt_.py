"""unyt: arrays with units."""

import numpy as np
import unyt
from case import case

X = np.array([1.0, 2.0, 3.0])


@case(X)
def converted(x):
    return (x * unyt.km / (2.0 * unyt.hr)).to("m/s").d


@case(X)
def arithmetic(x):
    q = unyt.unyt_array(x, "cm")
    return (np.sqrt(q**2 + (1 * unyt.inch) ** 2)).to_value("m")


@case(X)
def reductions(x):
    return (unyt.unyt_array(x, "K").mean() * unyt.kb).to_value("J") * 1e23
