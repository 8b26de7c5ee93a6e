"""opt_einsum: contractions."""

import numpy as np
import opt_einsum as oe
from case import case

A, B, C = (np.random.default_rng(k).normal(size=s) for k, s in enumerate([(3, 4), (4, 5), (5, 2)]))


@case(A, B, C)
def contracted(a, b, c):
    return oe.contract("ij,jk,kl->il", a, b, c)


@case(A, B)
def expression(a, b):
    return oe.contract_expression("ij,jk->ki", (3, 4), (4, 5))(a, b)


@case(A)
def traced_pairs(a):
    return oe.contract("ij,ij,ik->jk", a, a, a)
