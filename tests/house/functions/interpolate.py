"""What becomes of the names of scipy.interpolate that have no rule."""

MODULES = ("scipy.interpolate",)

TRACED = {
    "AAA Akima1DInterpolator BPoly BSpline BarycentricInterpolator BivariateSpline CubicHermiteSpline CubicSpline",
    "FloaterHormannInterpolator InterpolatedUnivariateSpline KroghInterpolator LSQUnivariateSpline NdBSpline NdPPoly",
    "NearestNDInterpolator PPoly PchipInterpolator RBFInterpolator Rbf RectBivariateSpline RegularGridInterpolator",
    "UnivariateSpline approximate_taylor_polynomial barycentric_interpolate bisplev griddata insert interp1d interpn",
    "krogh_interpolate lagrange make_interp_spline make_lsq_spline make_smoothing_spline pade pchip_interpolate spalde",
    "splantider splder splev splint splrep",
}

CONSTANT: dict[str, str] = {}

REFUSED = {
    "sproot": "roots: use scipy.optimize",
    "splprep make_splprep make_splrep generate_knots": "C code iterates to find knots and smoothing",
    "bisplrep LSQBivariateSpline SmoothBivariateSpline": "C code fits the surface",
    "LSQSphereBivariateSpline RectSphereBivariateSpline SmoothSphereBivariateSpline": "C code fits the surface",
    "interp2d": "removed from SciPy",
}
