"""What becomes of the names of scipy.spatial that have no rule."""

MODULES = ("scipy.spatial",)

TRACED = {
    "Rectangle SphericalVoronoi distance_matrix geometric_slerp minkowski_distance minkowski_distance_p",
    "procrustes",
}

CONSTANT: dict[str, str] = {}

REFUSED = {
    "Voronoi HalfspaceIntersection": "C code computes the vertices",
    "tsearch": "C code searches: use Delaunay.find_simplex",
    "convex_hull_plot_2d delaunay_plot_2d voronoi_plot_2d": "drawings",
}
