"""Fits of distributions that search: nothing of what a simplex does is the derivative of where it ends."""

from __future__ import annotations

from scipy import stats

from wengert.extend import NoDerivativeError, rrule

SEARCHED = (
    "{}.fit searches for the parameters, and a search has no derivative. Apply wg.implicit to the gradient of "
    "{}.nnlf, which is zero there."
)


@rrule(stats.rv_continuous.fit)
def rv_continuous_fit(self, data, *args, **kwds):
    """Of classes that have a fit in closed form this is not called."""
    raise NoDerivativeError(SEARCHED.format(self.name, self.name))
