"""tensorly: tensors on NumPy."""

import numpy as np
import tensorly as tl
from case import case
from tensorly.tenalg import khatri_rao, mode_dot

A, B, C = np.random.default_rng(5).normal(size=(3, 2, 2)), np.ones((4, 2)), np.arange(6.0).reshape(3, 2)


@case(A[0], B)
def cp_to_tensor(a, b):
    return tl.cp_to_tensor((None, [a, b, C]))


@case(A)
def tucker_to_tensor(core):
    return tl.tucker_to_tensor((core, [np.ones((2, 3)), np.eye(2), B[:3]]))


@case(A)
def mode_products(x):
    return mode_dot(x, np.ones((4, 3)), 0)


@case(A)
def unfolded(x):
    return tl.unfold(x, 1) @ tl.unfold(x, 1).T


@case(C)
def khatri_rao_product(c):
    return khatri_rao([c, B])


@case(A)
def norms(x):
    return tl.norm(x, 2) + tl.norm(x, 1)


@case(A[:1])
def tt_to_tensor(x):
    return tl.tt_to_tensor([x, x.transpose(2, 1, 0)])


@case(A)
def singular_values(x):
    return tl.tenalg.svd_interface(x[0], n_eigenvecs=2)[1]
