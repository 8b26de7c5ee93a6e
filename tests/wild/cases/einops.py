"""einops: rearrangements."""

import einops
import numpy as np
from case import case

X = np.arange(24.0).reshape(2, 3, 4) / 7


@case(X)
def rearranged(x):
    return einops.rearrange(x, "a b c -> (c a) b") * np.arange(3)


@case(X)
def reduced(x):
    return einops.reduce(x, "a b (c d) -> a d", "mean", d=2) + einops.reduce(x**2, "a b (c d) -> a d", "max", d=2)


@case(X)
def repeated(x):
    return einops.repeat(x, "a b c -> a (b r) c", r=2)


@case(X)
def einsum_by_names(x):
    return einops.einsum(x, x, "a b c, a d c -> b d")


@case(X)
def packed(x):
    p, _ = einops.pack([x, x[:, :, 0]], "a *")
    return p**2
