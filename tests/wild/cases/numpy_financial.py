"""numpy-financial: rates and values."""

import numpy as np
import numpy_financial as npf
from case import case


@case(0.05, np.array([-100.0, 39.0, 59.0, 55.0]))
def net_present_value(rate, flows):
    return npf.npv(rate, flows)


@case(0.05, 1000.0)
def payment(rate, pv):
    return npf.pmt(rate, 12, pv)


@case(np.array([-100.0, 39.0, 59.0, 55.0]))
def internal_rate(flows):
    return npf.irr(flows)


@case(0.05)
def future_value(rate):
    return npf.fv(rate, 10, -100.0, -50.0) + npf.ipmt(rate, 1, 10, 100.0)
