"""Samples of scipy.interpolate: its classes, made before the trace and inside it, at points and of data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sampling import Sample, call, values
from scipy import interpolate

from wengert_rules.scipy.interpolate import products, scattered

X = np.array([0.0, 0.8, 1.5, 2.7, 3.6, 4.4, 5.0])
Y = values(7)
GRID = np.array([0.0, 0.7, 1.6, 2.4, 3.1, 4.0]), np.array([-1.0, 0.2, 0.9, 2.0, 2.8])
TABLE = values(6, 5)
AT = np.array([0.3, 1.1, 2.9, 4.9, 3.7])
ON_GRID = np.array([[0.3, 0.4], [1.7, -0.3], [3.3, 2.1]])


def made(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """An interpolator made of constants, as a function of its points."""
    of = cls(*args, **kwargs)

    def at_points(points: Any, **words: Any) -> Any:
        return of(points, **words)

    return at_points


def of_data(cls: Any, **kwargs: Any) -> Any:
    """An interpolator made inside, as a function of points and data."""

    def at_points(points: Any, x: Any, y: Any, **words: Any) -> Any:
        return cls(x, y, **kwargs)(points, **words)

    return at_points


def of_values(cls: Any, x: Any, **kwargs: Any) -> Any:
    """An interpolator made inside, as a function of points and values; where these are known is constant."""

    def at_points(points: Any, y: Any, **words: Any) -> Any:
        return cls(x, y, **kwargs)(points, **words)

    return at_points


CURVES = [
    *[(interpolate.interp1d, {"kind": kind}) for kind in ("linear", "slinear", "quadratic", "cubic", 5)],
    (interpolate.interp1d, {"fill_value": "extrapolate"}),
    (interpolate.PchipInterpolator, {}),
    (interpolate.Akima1DInterpolator, {}),
    (interpolate.Akima1DInterpolator, {"method": "makima"}),
    (interpolate.BarycentricInterpolator, {}),
    (interpolate.KroghInterpolator, {}),
    *[(interpolate.CubicSpline, {"bc_type": bc}) for bc in ("not-a-knot", "natural", "clamped", ((1, 0.3), (2, 0.1)))],
    *[(interpolate.make_interp_spline, {"k": k}) for k in (1, 2, 3, 5)],
    (interpolate.make_interp_spline, {"bc_type": "natural"}),
    *[(interpolate.InterpolatedUnivariateSpline, {"k": k}) for k in (1, 2, 3, 5)],
    (interpolate.UnivariateSpline, {"s": 0}),
]
SMOOTH = [
    (interpolate.make_smoothing_spline, {"lam": 0.1}),
    (interpolate.make_lsq_spline, {"t": np.r_[[0.0] * 4, 2.4, [5.0] * 4]}),
    (interpolate.LSQUnivariateSpline, {"t": [2.4], "w": np.arange(1.0, 8)}),
    (interpolate.UnivariateSpline, {"s": 100}),  # so large that it is one polynomial
]
T = np.r_[[0.0] * 4, 2.4, [5.0] * 4]
C = np.array([1.0, 0.3, -0.5, 2.0, 1.1])
TCK = interpolate.splrep(X, Y)
KNOTS = np.array([0.0, 0.1, 0.15, 0.3, 2.4, 5.0, 5.2, 5.5, 6.0])


def evaluated(q: Any, c: Any, nu: int = 0, **words: Any) -> Any:
    return interpolate.BSpline(T, c, 3, **words)(q, nu)


def derived(q: Any, c: Any) -> Any:
    spline = interpolate.BSpline(T, c, 3)
    return spline.derivative()(q), spline.antiderivative()(q), spline.insert_knot(3.1).c


def integral(c: Any, a: Any, b: Any, **words: Any) -> Any:
    return interpolate.BSpline(T, c, 3, **words).integrate(a, b)


def at_knots(q: Any, t: Any, c: Any) -> Any:
    return interpolate.BSpline(t, c, 3)(q)


def element(q: Any, t: Any) -> Any:
    return interpolate.BSpline.basis_element(t)(q)


def of_cubic(q: Any, y: Any, a: Any) -> Any:
    spline = interpolate.CubicSpline(X, y)
    return spline(q, 1), spline.derivative()(q), spline.antiderivative()(q), spline.integrate(a, 4.5)


def periodic(q: Any, y: Any) -> Any:
    whole = np.append(y, y[0])
    made = [
        interpolate.CubicSpline(X, whole, bc_type="periodic"),
        interpolate.make_interp_spline(X, whole, bc_type="periodic"),
    ]
    return [of(q + 4) for of in made], made[0].integrate(1.0, 9.0)


def hermite(q: Any, y: Any, slope: Any) -> Any:
    return interpolate.CubicHermiteSpline(X, y, slope)(q)


def bernstein(q: Any, c: Any) -> Any:
    polynomial = interpolate.BPoly(c, X[:3])
    return (
        polynomial(q),
        polynomial(q, 1),
        polynomial.integrate(0.2, q[0]),
        interpolate.PPoly.from_bernstein_basis(polynomial)(q),
    )


def from_derivatives(q: Any, y: Any) -> Any:
    return interpolate.BPoly.from_derivatives(X[:3], [[y[0], 1.0], [y[1], y[2]], [y[3], 0.0]])(q)


def in_two(q: Any, c: Any) -> Any:
    of = interpolate.NdPPoly(c, (X[:3], X[:4]))
    return of(q), of(q, (1, 0)), of.antiderivative((1, 1))(q), of.integrate([[0.0, 1.0], [0.1, 2.0]])


def fitpack(q: Any, x: Any, y: Any, k: int = 3, **words: Any) -> Any:
    return interpolate.splev(q, interpolate.splrep(x, y, k=k, **words))


def of_fitpack(y: Any, a: Any) -> Any:
    tck = interpolate.splrep(X, y)
    more = interpolate.insert(a, tck, m=2)
    return (
        interpolate.splint(a, 5.5, tck), interpolate.spalde(a, tck), interpolate.splev(a, interpolate.splder(tck)),
        interpolate.splev(AT, interpolate.splantider(tck)), more[1][: len(more[0]) - 4],
        interpolate.PPoly.from_spline(tck)(AT),
    )  # fmt: skip


def constant_fitpack(q: Any, **words: Any) -> Any:
    return interpolate.splev(q, TCK, **words)


def of_univariate(y: Any, a: Any) -> Any:
    spline = interpolate.UnivariateSpline(X, y, s=100)
    return spline.integral(a, 4.5), spline.derivatives(a), spline.derivative()(AT), spline.get_residual()


def surface(x: Any, y: Any, table: Any) -> Any:
    spline = interpolate.RectBivariateSpline(*GRID, table)
    whole = spline.ev(x, y), spline.ev(x, y, dx=1), spline(x, y), spline(x, y, dx=1, dy=2)
    return *whole, spline.integral(0.1, x[1], 0.3, y[1]), spline.partial_derivative(1, 0)(x, y)


def on_moved_grid(gx: Any, table: Any, degree: int = 3) -> Any:
    return interpolate.RectBivariateSpline(gx, GRID[1], table, kx=degree)([0.3, 1.9], [0.1, 1.7])


def moved_grid(gx: Any, points: Any, table: Any) -> Any:
    return interpolate.RegularGridInterpolator((gx, GRID[1]), table)(points)


def fine(method: str) -> Any:
    """With a solver that does not stop early."""
    return of_values(
        interpolate.RegularGridInterpolator, GRID, method=method, solver_args={"rtol": 1e-13, "atol": 1e-13}
    )


def tensor(points: Any, c: Any, **words: Any) -> Any:
    return interpolate.NdBSpline((T, T), c, 3)(points, **words)


CLOUD = np.random.default_rng(0).normal(size=(12, 2))
HEIGHTS = np.random.default_rng(1).normal(size=12)
INSIDE = 0.3 * CLOUD[:4] + 0.3 * CLOUD[4:8]
EXACT = {"tol": 1e-13, "maxiter": 10000}
KERNELS = (
    "linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "inverse_multiquadric", "inverse_quadratic",
    "gaussian",
)  # fmt: skip


def between(points: Any, values: Any, method: str = "linear") -> Any:
    return interpolate.griddata(CLOUD, values, points, method=method)


def radial(points: Any, values: Any, epsilon: Any, smoothing: Any) -> Any:
    return interpolate.RBFInterpolator(CLOUD, values, kernel="gaussian", epsilon=epsilon, smoothing=smoothing)(points)


def rational(q: Any, x: Any, y: Any) -> Any:
    return interpolate.FloaterHormannInterpolator(x, y)(q)


SAMPLES: list[Sample] = []
BY_HAND = [products.solved, products.iterated, scattered.gradients]  # within those of the classes that call them
TRACED = [
    *[call(made(cls, X, Y, **words), AT) for cls, words in (*CURVES, *SMOOTH)],
    *[call(of_data(cls, **words), AT, X, Y) for cls, words in CURVES],
    *[call(of_values(cls, X, **words), AT, Y) for cls, words in SMOOTH],
    *[call(evaluated, AT, C, nu=nu) for nu in (0, 1, 2, 3)],
    call(evaluated, AT + 3, C, extrapolate="periodic"),
    call(derived, AT, C),
    *[call(integral, C, 0.3, b, extrapolate=how) for how in (True, False, "periodic") for b in (4.1, 6.0)],
    call(at_knots, AT, KNOTS, C),
    call(element, AT / 2, np.array([0.0, 1.0, 2.2, 3.1, 4.0])),
    call(of_cubic, AT, Y, 0.4),
    call(periodic, AT, Y[:-1]),
    call(hermite, AT, Y, Y[::-1].copy()),
    call(bernstein, AT[:2], values(4, 2)),
    call(from_derivatives, AT[:2], Y),
    call(in_two, np.array([[0.2, 1.3], [1.2, 2.6]]), values(4, 3, 2, 3)),
    *[call(fitpack, AT, X, Y, k=k) for k in (1, 2, 3, 5)],
    call(fitpack, AT, X, Y, t=[2.4], w=np.arange(1.0, 8)),
    call(of_fitpack, Y, 0.4),
    *[call(constant_fitpack, AT + 2, ext=ext) for ext in (0, 1, 3)],
    call(constant_fitpack, AT, der=2),
    call(of_univariate, Y, 0.4),
    call(surface, np.array([0.21, 1.3]), np.array([-0.4, 1.2]), TABLE),
    *[call(on_moved_grid, GRID[0], TABLE, degree=degree) for degree in (2, 3)],
    call(made(interpolate.RegularGridInterpolator, GRID, TABLE), ON_GRID),
    call(of_values(interpolate.RegularGridInterpolator, GRID), ON_GRID, TABLE),
    call(of_values(interpolate.RegularGridInterpolator, GRID, method="nearest"), ON_GRID, TABLE),
    call(of_values(interpolate.RegularGridInterpolator, GRID, bounds_error=False, fill_value=None), ON_GRID + 3, TABLE),
    call(moved_grid, GRID[0], ON_GRID, TABLE),
    *[call(fine(method), ON_GRID, TABLE) for method in ("slinear", "cubic")],
    call(of_values(interpolate.RegularGridInterpolator, GRID, method="pchip"), ON_GRID, TABLE),
    call(tensor, np.array([[0.3, 0.4], [1.7, 3.1]]), values(5, 5)),
    call(tensor, np.array([[0.3, 0.4], [1.7, 3.1]]), values(5, 5, 2), nu=(1, 2)),
    *[
        call(made(cls, CLOUD, HEIGHTS), INSIDE)
        for cls in (interpolate.LinearNDInterpolator, interpolate.CloughTocher2DInterpolator)
    ],
    call(of_data(interpolate.LinearNDInterpolator), INSIDE, CLOUD, HEIGHTS),
    call(
        of_data(interpolate.LinearNDInterpolator, rescale=True, fill_value=0.5),
        INSIDE * 4,
        CLOUD,
        np.stack([HEIGHTS] * 2, 1),
    ),
    call(of_data(interpolate.NearestNDInterpolator), INSIDE, CLOUD, HEIGHTS),
    call(of_values(interpolate.CloughTocher2DInterpolator, CLOUD, **EXACT), INSIDE, HEIGHTS),
    *[call(between, INSIDE, HEIGHTS, method=method) for method in ("linear", "nearest")],
    *[
        call(of_data(interpolate.RBFInterpolator, kernel=kernel, epsilon=1.3, smoothing=0.1), INSIDE, CLOUD, HEIGHTS)
        for kernel in KERNELS
    ],
    call(of_data(interpolate.RBFInterpolator, neighbors=6), INSIDE, CLOUD, HEIGHTS),
    call(radial, INSIDE, HEIGHTS, 1.3, 0.1),
    call(rational, AT, X, Y),
    *[
        call(f, X, Y, AT)
        for f in (interpolate.barycentric_interpolate, interpolate.krogh_interpolate, interpolate.pchip_interpolate)
    ],
]
