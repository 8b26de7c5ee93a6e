"""autoray: dispatch by backend."""

import numpy as np
from autoray import do
from case import case

X = np.array([[2.0, 0.3], [0.3, 1.5]])


@case(X)
def dispatched(x):
    return do("sum", do("exp", x)) + do("linalg.norm", x) + do("trace", x)


@case(X)
def decomposed(x):
    _, s, _ = do("linalg.svd", x)
    return s


@case(X)
def lazily(x):
    from autoray import lazy

    y = lazy.array(x)
    return (y @ y + lazy.sum(y)).compute()
