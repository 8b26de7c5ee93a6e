"""What becomes of the public functions of numpy.polynomial, all of which are written in Python."""

MODULES = (
    "numpy.polynomial", "numpy.polynomial.chebyshev", "numpy.polynomial.hermite", "numpy.polynomial.hermite_e",
    "numpy.polynomial.laguerre", "numpy.polynomial.legendre", "numpy.polynomial.polynomial",
    "numpy.polynomial.polyutils",
)  # fmt: skip

SERIES = ("poly", "cheb", "herm", "herme", "lag", "leg")
EACH = (
    "add companion der div fit fromroots grid2d grid3d int line mul mulx pow roots sub trim val val2d val3d valnd "
    "vander vander2d vander3d weight gauss"
)

TRACED = {f"{series}{name}" for series in SERIES for name in EACH.split()}
TRACED |= {f"poly2{series}" for series in SERIES} | {f"{series}2poly" for series in SERIES}
TRACED |= {
    "polyvalfromroots chebinterpolate chebpts1 chebpts2 as_series mapdomain mapparms trimcoef trimseq getdomain",
    "Chebyshev Hermite HermiteE Laguerre Legendre Polynomial",
}

CONSTANT = {"set_default_printstyle format_float": "strings and settings"}

REFUSED: dict[str, str] = {}
