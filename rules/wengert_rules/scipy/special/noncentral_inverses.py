"""The noncentral distribution functions solved for a parameter: each slope is over that of the parameter."""

from __future__ import annotations

from scipy import special
from scipy.special import _ufuncs

from wengert.extend import partials
from wengert_rules.scipy.special.noncentral import (
    ncf_by_dfd,
    ncf_by_dfn,
    ncf_cdf_by,
    ncf_cdf_by_nc,
    ncx2_cdf_by_df,
)
from wengert_rules.scipy.special.noncentral_t import nct_cdf_by_df, nct_cdf_by_nc


@partials(special.chndtridf)
def chndtridf(df, x, p, nc):
    slope = ncx2_cdf_by_df(x, df, nc)
    return -_ufuncs._ncx2_pdf(x, df, nc) / slope, 1 / slope, _ufuncs._ncx2_pdf(x, df + 2, nc) / slope


@partials(special.chndtrinc)
def chndtrinc(nc, x, df, p):
    slope = -_ufuncs._ncx2_pdf(x, df + 2, nc)
    return -_ufuncs._ncx2_pdf(x, df, nc) / slope, -ncx2_cdf_by_df(x, df, nc) / slope, 1 / slope


@partials(special.ncfdtridfn)
def ncfdtridfn(dfn, p, dfd, nc, f):
    args = (f, dfn, dfd, nc)
    slope = ncf_cdf_by(ncf_by_dfn, *args)
    return 1 / slope, -ncf_cdf_by(ncf_by_dfd, *args) / slope, -ncf_cdf_by_nc(*args) / slope, -pdf(args) / slope


@partials(special.ncfdtridfd)
def ncfdtridfd(dfd, dfn, p, nc, f):
    args = (f, dfn, dfd, nc)
    slope = ncf_cdf_by(ncf_by_dfd, *args)
    return -ncf_cdf_by(ncf_by_dfn, *args) / slope, 1 / slope, -ncf_cdf_by_nc(*args) / slope, -pdf(args) / slope


@partials(special.ncfdtrinc)
def ncfdtrinc(nc, dfn, dfd, p, f):
    args = (f, dfn, dfd, nc)
    slope = ncf_cdf_by_nc(*args)
    by_dfn, by_dfd = ncf_cdf_by(ncf_by_dfn, *args), ncf_cdf_by(ncf_by_dfd, *args)
    return -by_dfn / slope, -by_dfd / slope, 1 / slope, -pdf(args) / slope


def pdf(args):
    return _ufuncs._ncf_pdf(*args)


@partials(special.nctdtridf)
def nctdtridf(df, p, nc, t):
    slope = nct_cdf_by_df(t, df, nc)
    return 1 / slope, -nct_cdf_by_nc(t, df, nc) / slope, -_ufuncs._nct_pdf(t, df, nc) / slope


@partials(special.nctdtrinc)
def nctdtrinc(nc, df, p, t):
    slope = nct_cdf_by_nc(t, df, nc)
    return -nct_cdf_by_df(t, df, nc) / slope, 1 / slope, -_ufuncs._nct_pdf(t, df, nc) / slope
