"""autograd-gamma and numdifftools: derivatives of derivatives by others."""

import numdifftools as nd
import numpy as np
from case import case


@case(1.3, rtol=1e-4)
def derivative_by_differences(a):
    return nd.Derivative(lambda t: np.sin(a * t))(0.4)


@case(np.array([0.4, 0.9]), rtol=1e-4)
def gradient_by_complex_step(x):
    return nd.Gradient(lambda t: np.sum(t**3), method="complex")(x)
