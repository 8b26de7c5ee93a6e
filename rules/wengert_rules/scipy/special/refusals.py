"""Arguments without derivative: whole numbers, and parameters for which no good formula is known."""

from __future__ import annotations

from wengert.extend import NoDerivativeError, computes

WHOLE = (
    "this function has no derivative with respect to an argument that is a whole number, as an order is: pass an int"
)

ORDER = "the derivative with respect to the order of this function is not given: pass it as a constant, such as an int"
PARAMETER = "the derivative with respect to this parameter is not given: pass it as a constant, such as an int"


@computes
def refused(why):
    """Refuse a derivative where it is asked for."""
    raise NoDerivativeError(why)
