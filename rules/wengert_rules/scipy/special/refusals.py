"""Arguments without derivative: whole numbers, and parameters for which no good formula is known."""

from __future__ import annotations

from wengert.extend import NoDerivativeError, computes

WHOLE = "this function has no derivative with respect to an integer argument, such as an order. Pass it as an integer"

ORDER = "this function has no derivative with respect to its order. Pass the order as a constant, such as an integer"
PARAMETER = "this function has no derivative with respect to this parameter. Pass it as a constant, such as an integer"


@computes
def refused(why):
    """Refuse a derivative where it is asked for."""
    raise NoDerivativeError(why)
