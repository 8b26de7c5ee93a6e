"""ruptures: costs of segments."""

import numpy as np
from case import case
from ruptures.costs import CostL2, CostRbf

Y = np.sin(np.arange(8.0))[:, None]


@case(Y)
def l2_cost(y):
    return CostL2().fit(y).error(0, 5)


@case(Y)
def rbf_cost(y):
    return CostRbf(gamma=0.5).fit(y).error(0, 5)
