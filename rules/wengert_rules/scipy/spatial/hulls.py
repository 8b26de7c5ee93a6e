"""Convex hulls and triangulations: what is beside what is constant; where it is, how large and which way is not."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import ConvexHull, Delaunay

from wengert.extend import NoDerivativeError, jvp_rule, non_differentiable, stands_for, vjp_rule
from wengert_rules.decompositions import refusal
from wengert_rules.scipy.spatial.trees import constant, numbers

of_hull, of_triangles = ConvexHull.__init__, Delaunay.__init__


@stands_for(of_hull)
def convex_hull(self, points, incremental=False, qhull_options=None):
    """The volume is that of the cones from the middle to the facets, whose own volumes are the area."""
    of_hull(self, numbers(points), incremental, qhull_options)
    self.constant = ConvexHull(numbers(points), incremental, qhull_options)
    points = np.asarray(points)
    middle, d = np.mean(points, axis=0), points.shape[1]
    corners = points[self.simplices] - middle
    upright = np.linalg.solve(corners, np.ones((*np.shape(self.simplices), 1)))[..., 0]  # corner · upright = 1
    height = 1 / np.sqrt(np.sum(upright**2, axis=1))
    normals = upright * height[:, np.newaxis]
    cones = np.abs(np.linalg.det(corners)) / math.factorial(d)
    self.volume, self.area = np.sum(cones), np.sum(d * cones / height)
    self.equations = np.concatenate([normals, -(normals @ middle + height)[:, np.newaxis]], axis=1)
    self.min_bound, self.max_bound = np.min(points, axis=0), np.max(points, axis=0)
    self._points = points


@stands_for(ConvexHull.points.fget, Delaunay.points.fget)
def points_of(self):
    return self._points


@stands_for(of_triangles)
def delaunay(self, points, furthest_site=False, incremental=False, qhull_options=None):
    options = furthest_site, incremental, qhull_options
    of_triangles(self, numbers(points), *options)
    self.constant = Delaunay(numbers(points), *options)
    self._points = np.asarray(points)
    self.min_bound, self.max_bound = np.min(self._points, axis=0), np.max(self._points, axis=0)
    for name in ("equations", "paraboloid_scale", "paraboloid_shift"):
        setattr(self, name, lifted(self._points, of=getattr(self.constant, name)))


LIFTED = (
    "the equations, scale and shift of a Delaunay triangulation describe points that Qhull lifted to a paraboloid, and "
    "have no derivative here. Use the points and simplices, or scipy.spatial.ConvexHull"
)


def lifted(points, *, of):
    """Record Qhull's result `of` the points lifted to a paraboloid; it has no derivative."""
    return np.array(of)[()]


@vjp_rule(lifted)
def lifted_bar(y_bar, y, points, *, of):
    raise NoDerivativeError(LIFTED)


@jvp_rule(lifted)
def push_lifted(tangents, y, points, *, of):
    return refusal(LIFTED)


@non_differentiable
def simplices(tri, x, bruteforce=False, tol=None):
    """The number of the simplex that each point is in, -1 where there is none."""
    return of_point(tri, x, bruteforce, tol)


of_point = Delaunay.find_simplex


@stands_for(of_point)
def find_simplex(self, xi, bruteforce=False, tol=None):
    return simplices(constant(self), xi, bruteforce, tol)


def asked(fget):
    """Return a replacement for a property that holds indices of points or simplices: it reads a constant."""
    return lambda self: fget(constant(self))


stands_for(ConvexHull.vertices.fget)(asked(ConvexHull.vertices.fget))
for _name in ("convex_hull", "vertex_to_simplex", "vertex_neighbor_vertices"):
    _fget = getattr(Delaunay, _name).fget
    stands_for(_fget)(asked(_fget))
