"""What becomes of scipy.differentiate: differences of the values that a function gives are followed."""

MODULES = ("scipy.differentiate",)

TRACED = {"derivative hessian jacobian"}

CONSTANT: dict[str, str] = {}

REFUSED: dict[str, str] = {}
