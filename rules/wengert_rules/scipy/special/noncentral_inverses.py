"""The noncentral distribution functions solved for a parameter: each slope is over that of the parameter."""

from __future__ import annotations

from scipy import special
from scipy.special import _ufuncs

from wengert.extend import computes, partials
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


@computes
def by_dfn(f, dfn, dfd, nc):
    return ncf_cdf_by(ncf_by_dfn, f, dfn, dfd, nc)


@computes
def by_dfd(f, dfn, dfd, nc):
    return ncf_cdf_by(ncf_by_dfd, f, dfn, dfd, nc)


@partials(special.ncfdtridfn)
def ncfdtridfn(dfn, p, dfd, nc, f):
    slope = by_dfn(f, dfn, dfd, nc)
    by_nc, by_f = ncf_cdf_by_nc(f, dfn, dfd, nc), _ufuncs._ncf_pdf(f, dfn, dfd, nc)
    return 1 / slope, -by_dfd(f, dfn, dfd, nc) / slope, -by_nc / slope, -by_f / slope


@partials(special.ncfdtridfd)
def ncfdtridfd(dfd, dfn, p, nc, f):
    slope = by_dfd(f, dfn, dfd, nc)
    by_nc, by_f = ncf_cdf_by_nc(f, dfn, dfd, nc), _ufuncs._ncf_pdf(f, dfn, dfd, nc)
    return -by_dfn(f, dfn, dfd, nc) / slope, 1 / slope, -by_nc / slope, -by_f / slope


@partials(special.ncfdtrinc)
def ncfdtrinc(nc, dfn, dfd, p, f):
    slope, by_f = ncf_cdf_by_nc(f, dfn, dfd, nc), _ufuncs._ncf_pdf(f, dfn, dfd, nc)
    return -by_dfn(f, dfn, dfd, nc) / slope, -by_dfd(f, dfn, dfd, nc) / slope, 1 / slope, -by_f / slope


@partials(special.nctdtridf)
def nctdtridf(df, p, nc, t):
    slope = nct_cdf_by_df(t, df, nc)
    return 1 / slope, -nct_cdf_by_nc(t, df, nc) / slope, -_ufuncs._nct_pdf(t, df, nc) / slope


@partials(special.nctdtrinc)
def nctdtrinc(nc, df, p, t):
    slope = nct_cdf_by_nc(t, df, nc)
    return -nct_cdf_by_df(t, df, nc) / slope, 1 / slope, -_ufuncs._nct_pdf(t, df, nc) / slope
