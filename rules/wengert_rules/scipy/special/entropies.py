"""Products with logarithms, and the entropies made of them. Where a factor is 0, so is the product, with its slopes."""

from __future__ import annotations

import numpy as np
from scipy import special

from wengert.extend import partials
from wengert_rules.elementwise import nonzero


def ratio(x, y):
    """x/y, and 0 for 0/0."""
    return x / np.where(x == 0, nonzero(y), y)


@partials(special.xlogy)
def xlogy(z, x, y):
    return np.log(y), ratio(x, y)


@partials(special.xlog1py)
def xlog1py(z, x, y):
    return np.log1p(y), ratio(x, 1 + y)


@partials(special.entr)
def entr(y, x):
    return -1 - np.log(x)


@partials(special.rel_entr)
def rel_entr(z, x, y):
    """x log(x/y)."""
    return np.log(ratio(x, y)) + 1, -ratio(x, y)


@partials(special.kl_div)
def kl_div(z, x, y):
    """x log(x/y) - x + y."""
    return np.log(ratio(x, y)), 1 - ratio(x, y)
