"""bottleneck: reductions in C."""

import bottleneck as bn
import numpy as np
from case import case

X = np.array([1.0, 2.5, 0.3, 4.0])


@case(X)
def nan_sums(x):
    return bn.nansum(x) * bn.nanmean(x)


@case(X)
def moving(x):
    return bn.move_mean(x, 2, min_count=1)
