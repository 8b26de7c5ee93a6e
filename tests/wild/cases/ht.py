"""ht: heat transfer."""

import ht
from case import case


@case(1e4, 4.0)
def dittus_boelter(re, pr):
    return ht.conv_internal.turbulent_Dittus_Boelter(re, pr)


@case(360.0)
def log_mean_temperature(t):
    return ht.LMTD(Thi=400.0, Tho=t, Tci=300.0, Tco=320.0)


@case(2.0, 0.5)
def effectiveness(ntu, cr):
    return ht.effectiveness_from_NTU(ntu, cr, "counterflow")


@case(350.0)
def radiation(t):
    return ht.q_rad(0.9, t, 300.0)
