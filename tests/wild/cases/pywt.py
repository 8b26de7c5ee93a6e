"""PyWavelets: transforms in C."""

import numpy as np
import pywt
from case import case

X = np.sin(np.arange(8.0)) + 0.1 * np.arange(8.0)


@case(X)
def soft_threshold(x):
    return pywt.threshold(x, 0.3, "soft")


@case(X)
def one_level(x):
    return pywt.dwt(x, "db2")


@case(X)
def there_and_back(x):
    return pywt.waverec(pywt.wavedec(x, "haar"), "haar")
