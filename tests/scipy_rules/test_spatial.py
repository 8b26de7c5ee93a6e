"""Distances, trees and rotations of SciPy: kinks, constants and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull, Delaunay, KDTree, Voronoi, cKDTree, distance
from scipy.spatial.transform import Rotation

import wengert as wg
from wengert.extend import rules
from wengert_rules.scipy.spatial import rotations

X = np.random.default_rng(0).uniform(0, 2, (6, 2))


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "minkowski", "canberra", "sqeuclidean"])
def test_a_point_is_no_way_from_itself(metric: str) -> None:
    """Where two points are one, the derivative of their distance is zero, and no nan."""
    x = np.array([[1.0, 2.0], [1.0, 2.0], [0.5, 1.0]])
    whole = wg.grad(lambda x: np.sum(distance.cdist(x, x, metric)))(x)
    pairs = wg.grad(lambda x: 2 * np.sum(distance.pdist(x, metric)))(x)
    np.testing.assert_allclose(whole, pairs, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(whole[0], whole[1])


TRUTHS = np.array([[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]])


@pytest.mark.parametrize("metric", ["hamming", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"])
def test_distances_of_truths_move_with_the_weights(metric: str) -> None:
    of = lambda w: np.sum(distance.cdist(TRUTHS, TRUTHS[::-1], metric, w=w) * np.arange(9.0).reshape(3, 3))
    w = np.array([0.4, 1.3, 0.9, 0.7])
    np.testing.assert_allclose(wg.grad(of)(w), wg.ngradient(of, w, argnums=0), rtol=1e-8, atol=1e-9)


def test_distances_far_from_the_origin_keep_their_digits() -> None:
    near = wg.grad(lambda x: np.sum(distance.cdist(x, x[:2])))(X)
    far = wg.grad(lambda x: np.sum(distance.cdist(x, x[:2])))(X + 2.0**20)
    np.testing.assert_allclose(far, near, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("cls", [KDTree, cKDTree])
def test_too_few_neighbours(cls: Any) -> None:
    """Missing ones are at an infinite distance, which has no derivative."""
    of = lambda x: cls(X).query(x, k=3, distance_upper_bound=0.7)
    d, i = of(X[0] + 0.1)
    assert np.isinf(d).any()
    _, pullback = wg.vjp(lambda x: of(x)[0], X[0] + 0.1)
    (gradient,) = pullback(np.where(np.isinf(d), 0.0, 1.0))
    there = i[np.isfinite(d)]
    np.testing.assert_allclose(gradient, np.sum((X[0] + 0.1 - X[there]) / d[: len(there), None], axis=0))


@pytest.mark.parametrize("cls", [KDTree, cKDTree])
def test_a_tree_of_traced_points_is_a_tree(cls: Any) -> None:
    def asked(x: Any) -> Any:
        tree = cls(x)
        assert isinstance(tree, cls) and tree.n == 6 and tree.m == 2
        return np.sum(tree.data**2)

    assert wg.grad(asked)(X) == pytest.approx(2 * X)


@pytest.mark.parametrize("refused", [Voronoi, lambda x: KDTree(x).count_neighbors(KDTree(x), 1.0)])
def test_what_has_no_derivative_here_is_refused(refused: Any) -> None:
    with pytest.raises(wg.NoRuleError):
        wg.grad(lambda x: refused(x) and np.sum(x))(X)


QUATS = np.random.default_rng(1).normal(size=(4, 4))
UNIT = QUATS / np.linalg.norm(QUATS, axis=1, keepdims=True)
LOCKED = Rotation.from_euler("xyz", [[0.3, np.pi / 2, 0.2]]).as_quat()
ROTATION = [
    *[("from_quat", (q,), {"scalar_first": first}) for q in (QUATS, -QUATS) for first in (False, True)],
    ("from_quat", (UNIT,), {"normalize": False}),
    *[("from_rotvec", (scale * QUATS[:, :3],), {"degrees": scale > 1}) for scale in (1e-9, 1e-3, 1.0, 100.0)],
    ("from_rotvec", (np.zeros((2, 3)),), {}),
    ("from_mrp", (QUATS[:, :3],), {}),
    *[("from_euler", (axes, QUATS[:, :3]), {}) for axes in ("xyz", "XYX", "zyx")],
    ("from_euler", ("XZ", QUATS[:, :2]), {"degrees": True}),
    *[("as_quat", (UNIT,), {"canonical": c, "scalar_first": f}) for c in (False, True) for f in (False, True)],
    *[(name, (UNIT,), {}) for name in ("as_matrix", "as_rotvec", "as_mrp", "inv", "magnitude", "mean")],
    *[("as_euler", (UNIT, axes), {}) for axes in ("xyz", "XYZ", "ZXZ", "zyz")],
    ("as_euler", (LOCKED, "xyz"), {"suppress_warnings": True}),
    ("as_rotvec", (np.array([[0.0, 0, 0, 1], [1e-9, 0, 0, 1], [0, 0, 1, 0]]),), {"degrees": True}),
    ("mean", (UNIT,), {"weights": np.arange(1.0, 5)}),
    *[("apply", (UNIT, points), {"inverse": back}) for points in (QUATS[:, :3], QUATS[:1, :3]) for back in (0, 1)],
    *[("pow", (UNIT, n), {}) for n in (-1, 0, 1, 2, 0.3, -2.5)],
    ("compose_quat", (UNIT, UNIT[::-1].copy()), {}),
    ("align_vectors", (QUATS[:, :3], QUATS[:, 1:]), {}),
    ("align_vectors", (QUATS[:, :3], QUATS[:, 1:]), {"weights": np.arange(1.0, 5), "return_sensitivity": True}),
    ("align_vectors", (QUATS[:, :3], QUATS[:, 1:]), {"weights": np.array([np.inf, 1, 2, 1])}),
    ("align_vectors", (QUATS[:1, :3], QUATS[:1, 1:]), {}),
    ("reduce", (UNIT, UNIT[:2].copy()), {}),
    ("reduce", (UNIT, UNIT[:2].copy(), UNIT[1:].copy()), {}),
    ("from_matrix", (Rotation.from_quat(UNIT).as_matrix(),), {}),
    ("from_matrix", (np.eye(3)[None] + 0.1 * UNIT[0, :3],), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), ROTATION, ids=lambda x: x if isinstance(x, str) else "")
def test_rotations_in_python_are_those_in_c(name: str, args: Any, kwargs: Any) -> None:
    native = getattr(rotations.in_c, name)
    text = rules.standin_of(native)
    assert text is not None
    parts = [y if isinstance(y, tuple) else (y,) for y in (text(*args, **kwargs), native(*args, **kwargs))]
    for got, expected in zip(*parts, strict=True):
        if expected is not None:  # C leaves out a sensitivity that nobody asks for
            np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-11, atol=1e-12)


def test_a_matrix_that_mirrors_is_no_rotation() -> None:
    with pytest.raises(ValueError, match="Non-positive determinant"):
        wg.grad(lambda m: Rotation.from_matrix(m).magnitude())(-np.eye(3))


@pytest.mark.parametrize("made", [cKDTree, KDTree, ConvexHull, Delaunay])
def test_trees_of_traced_points_are_refused_on_a_tape(made: Any) -> None:
    def f(x: Any) -> Any:
        made(np.reshape(x, (-1, 2)))
        return np.sum(x)

    with pytest.raises(wg.WengertError, match="a tape cannot record trees"):
        wg.trace(f, np.random.default_rng(0).normal(size=12))


@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_what_qhull_lifts_to_a_paraboloid_may_be_read_and_has_no_derivative(mode: str) -> None:
    agreed = wg.grad(lambda x: np.sum(x) * np.array_equal(Delaunay(x).equations, Delaunay(X).equations))(X)
    np.testing.assert_array_equal(agreed, np.ones_like(X))

    def f(x: Any) -> Any:
        return np.sum(Delaunay(x).equations) + np.sum(x)

    with pytest.raises(wg.NoDerivativeError, match=r"test_spatial\.py:\d+ in .*f: the equations, scale and shift"):
        wg.grad(f)(X) if mode == "grad" else wg.jvp(f, (X,), (X,))
