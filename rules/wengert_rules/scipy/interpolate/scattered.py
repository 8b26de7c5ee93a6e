"""Interpolation between scattered points: which simplex a point is in is constant, its coordinates there are not."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CloughTocher2DInterpolator, LinearNDInterpolator

from wengert.extend import jvp_rule, stands_for, vjp_rule
from wengert_rules.scipy.interpolate.grids import coordinates
from wengert_rules.scipy.optional import present
from wengert_rules.scipy.spatial.hulls import simplices
from wengert_rules.scipy.spatial.trees import constant, numbers

Base = LinearNDInterpolator.__mro__[1]
(estimated,) = present(
    "interpolate._interpnd.estimate_gradients_2d_global", "interpolate.interpnd.estimate_gradients_2d_global"
)


def made(native):
    """The `__init__` of an interpolator whose triangulation is made of numbers, and that holds points and values."""

    def init(self, points, values, *args, **kwargs):
        native(self, kept(points), numbers(values), *args, **kwargs)
        if self.values is not None:
            self.values = np.reshape(np.asarray(values), self.values.shape).astype(self.values.dtype)
        self.points = points.points if hasattr(points, "simplices") else scaled(self, coordinates(points))

    return init


def kept(points):
    """A triangulation as it is; of coordinates the numbers."""
    return constant(points) if hasattr(points, "simplices") else numbers(coordinates(points))


for _cls in (Base, LinearNDInterpolator):
    stands_for(_cls.__init__)(made(_cls.__init__))


def gradients(values, *, tri, points, maxiter, tol):
    """The gradients of a smooth surface through values at the points of a triangulation, linear in the values."""
    return estimated(tri, values, maxiter, tol)


def response(tri, n, maxiter, tol):
    """The gradients for a value of 1 at each of n points: value, point, direction."""
    return np.moveaxis(estimated(tri, np.eye(n), maxiter * 10, min(tol, 1e-12)), 1, 0)


@vjp_rule(gradients)
def gradients_(y_bar, y, values, *, tri, points, maxiter, tol):
    return np.einsum("vpd,pmd->vm", response(tri, np.shape(values)[0], maxiter, tol), y_bar)


@jvp_rule(gradients)
def push_gradients(tangents, y, values, *, tri, points, maxiter, tol):
    return np.einsum("vpd,vm->pmd", response(tri, np.shape(values)[0], maxiter, tol), tangents[0])


of_curved = CloughTocher2DInterpolator.__init__


@stands_for(of_curved)
def init_curved(self, points, values, fill_value=np.nan, tol=1e-6, maxiter=400, rescale=False):
    of_curved(self, kept(points), numbers(values), fill_value, tol, maxiter, rescale)
    self.values = np.reshape(np.asarray(values), self.values.shape).astype(self.values.dtype)
    self.grad = gradients(self.values, tri=self.tri, points=points, maxiter=maxiter, tol=tol)


@stands_for(Base._scale_x)
def scaled(self, x):
    return x if self.scale is None else (x - self.offset) / self.scale


@stands_for(Base._check_call_shape)
def checked(self, x):
    if np.shape(x)[-1] != self.points.shape[1]:
        raise ValueError("number of dimensions in xi does not match x")
    return x


def barycentric(corners, x):
    """The coordinates of points in their simplices, which add up to 1."""
    sides = np.swapaxes(corners[:, :-1] - corners[:, -1:], 1, 2)
    first = np.linalg.solve(sides, (x - corners[:, -1])[..., np.newaxis])[..., 0]
    return np.concatenate([first, 1 - np.sum(first, axis=1, keepdims=True)], axis=1)


@stands_for(Base.__call__)
def interpolated(self, *args, simplex_tolerance=1.0):
    at = checked(self, coordinates(args, ndim=self.points.shape[1]))
    x = scaled(self, np.reshape(at, (-1, np.shape(at)[-1])).astype(float))
    found = simplices(constant(self.tri), x, tol=100 * simplex_tolerance * np.finfo(float).eps)
    there = np.maximum(found, 0)
    vertices = self.tri.simplices[there]
    b = barycentric(self.points[vertices], np.where(found[:, np.newaxis] < 0, 0.0, x))
    surface = curved if isinstance(self, CloughTocher2DInterpolator) else flat
    y = np.where(found[:, np.newaxis] < 0, self.fill_value, surface(self, there, vertices, b))
    return np.reshape(y, np.shape(at)[:-1] + self.values_shape)


def flat(self, there, vertices, b):
    return np.sum(b[..., np.newaxis] * self.values[vertices], axis=1)


def curved(self, there, vertices, b):
    """The cubic of Clough and Tocher in each of the three parts of a triangle, by its coefficients.

    Source: P. Alfeld, A trivariate Clough-Tocher scheme for tetrahedral data (1984), as SciPy has it.
    """
    c = coefficients(self, there, vertices)
    low = np.min(b, axis=1, keepdims=True)
    parts = [part[:, np.newaxis] for part in (*(b - low).T, 3 * low[:, 0])]
    total = 0.0
    for powers, value in c.items():
        term = MULTIPLICITY[tuple(sorted(powers))] * value
        for part, power in zip(parts, powers, strict=True):
            for _ in range(power):
                term = term * part
        total = total + term
    return total


MULTIPLICITY = {(0, 0, 0, 3): 1, (0, 0, 1, 2): 3, (0, 1, 1, 1): 6}


def coefficients(self, there, vertices):
    """Those of the monomials in four coordinates, by their powers: the corners' and that of the middle.

    Values and gradients at the corners give those near the edges, a gradient across each edge that is linear along it
    (towards the middle of the neighbour beyond, or of the edge's own triangle) those farther in.
    """
    f, slope = np.moveaxis(self.values[vertices], 1, 0), np.moveaxis(self.grad[vertices], 1, 0)
    corner = np.moveaxis(self.points[vertices], 1, 0)
    across = over_edges(self, there, vertices)
    c = {}
    for i in range(3):
        c[at(i, i, i)] = f[i]
        for j in range(3):
            if j != i:
                edge = corner[j] - corner[i]
                c[at(i, i, j)] = f[i] + np.einsum("nmd,nd->nm", slope[i], edge) / 3
    for i in range(3):
        c[at(i, i, 3)] = (c[at(i, i, i)] + sum([c[at(i, i, j)] for j in range(3) if j != i])) / 3
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        bend = -c[at(i, i, i)] + 3 * c[at(i, i, j)] - 3 * c[at(i, j, j)] + c[at(j, j, j)]
        rest = -c[at(i, i, i)] + 2 * c[at(i, i, j)] - c[at(i, j, j)] + c[at(i, i, 3)] + c[at(j, j, 3)]
        c[at(i, j, 3)] = (across[k] * bend + rest) / 2
    for i in range(3):
        c[at(i, 3, 3)] = (c[at(i, i, 3)] + sum([c[at(i, j, 3)] for j in range(3) if j != i])) / 3
    c[at(3, 3, 3)] = sum([c[at(i, 3, 3)] for i in range(3)]) / 3
    return c


def at(*places):
    """The powers of the four coordinates in a product of these three."""
    return tuple([places.count(k) for k in range(4)])


def over_edges(self, there, vertices):
    """For each edge, in which direction the gradient across it is linear: where it meets the line between middles."""
    shares = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        beyond = self.tri.neighbors[there, k]
        middle = np.mean(self.points[self.tri.simplices[beyond]], axis=1)
        c = barycentric(self.points[vertices], middle)
        share = (2 * c[:, j] + c[:, i] - 1) / (2 - 3 * c[:, j] - 3 * c[:, i])
        shares.append(np.where(beyond < 0, -0.5, share)[:, np.newaxis])
    return shares
