"""Samples of scipy.spatial: distances, trees and rotations."""

from __future__ import annotations

from typing import Any

import numpy as np
from sampling import Sample, call, values
from scipy.cluster import vq
from scipy.spatial import (
    ConvexHull,
    Delaunay,
    KDTree,
    SphericalVoronoi,
    cKDTree,
    distance,
    distance_matrix,
    geometric_slerp,
    minkowski_distance,
    procrustes,
    transform,
)  # fmt: skip
from scipy.spatial.transform import Rotation, RotationSpline, Slerp

from wengert_rules.scipy.spatial import distances, hulls

A = np.random.default_rng(0).uniform(0.3, 2.1, (4, 3))  # `values` are evenly spaced: their differences tie
B = np.random.default_rng(1).uniform(0.3, 1.7, (3, 3))
W = values(3, low=0.2, high=0.9)

SAMPLES: list[Sample] = [
    call(distances.apart, A, B),
    call(distances.apart, A + 1000, B + 1000),
    call(distances.pairs, A),
]

SMOOTH = (
    "euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis", "cosine", "correlation",
    "jensenshannon", "dice", "seuclidean", "mahalanobis",
)  # fmt: skip
WEIGHTED = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "canberra", "braycurtis")
OF_TRUTHS = ("hamming", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
TRUTHS = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])


def cdist(metric: str) -> Any:
    def all_distances(a: Any, b: Any, **options: Any) -> Any:
        return distance.cdist(a, b, metric, **options)

    return all_distances


def pdist(metric: str) -> Any:
    def pairs_of(x: Any, **options: Any) -> Any:
        return distance.pdist(x, metric, **options)

    return pairs_of


def weighted(metric: str) -> Any:
    def by_weight(a: Any, b: Any, w: Any) -> Any:
        return distance.cdist(a, b, metric, w=w)

    return by_weight


def of_truths(metric: str) -> Any:
    def by_weight(w: Any) -> Any:
        return distance.cdist(TRUTHS, TRUTHS[::-1], metric, w=w)

    return by_weight


def into(a: Any, b: Any) -> Any:
    out = np.empty((len(a), len(b)))
    distance.cdist(a, b, "cosine", out=out)
    return out


def squared(x: Any) -> Any:
    return distance.squareform(distance.squareform(distance.pdist(x)))


def by_minkowski(a: Any, b: Any, p: Any) -> Any:
    return distance.cdist(a, b, "minkowski", p=p)


def by_variances(a: Any, b: Any, v: Any) -> Any:
    return distance.cdist(a, b, "seuclidean", V=v)


def by_covariance(a: Any, b: Any, inverse: Any) -> Any:
    return distance.cdist(a, b, "mahalanobis", VI=inverse)


def farthest(a: Any, b: Any) -> Any:
    return distance.directed_hausdorff(a, b)[0]


CLOUD = np.random.default_rng(2).uniform(0, 2, (9, 3))
TREES = (KDTree, cKDTree)


def near(tree: Any, **options: Any) -> Any:
    def to_points(points: Any) -> Any:
        return tree.query(points, **options)[0]

    return to_points


def near_of(cls: Any, **options: Any) -> Any:
    def from_cloud(cloud: Any, points: Any, **words: Any) -> Any:
        return cls(cloud, **options).query(points, **words)[0]

    return from_cloud


def energy(cls: Any) -> Any:
    """Which pairs are near is decided by a tree."""

    def of_pairs(x: Any) -> Any:
        i, j = cls(x).query_pairs(1.0, output_type="ndarray").T
        return np.sum(1 / np.sum((x[i] - x[j]) ** 2, axis=1))

    return of_pairs


def kernel(cls: Any) -> Any:
    def of_balls(x: Any, y: Any) -> Any:
        found = cls(x).query_ball_point(y, 1.0)
        return sum([np.sum(np.exp(-((x[near] - at) ** 2))) for near, at in zip(found, y, strict=True)])

    return of_balls


def sparse(cls: Any) -> Any:
    def of_trees(x: Any, y: Any) -> Any:
        return np.array([*cls(x).sparse_distance_matrix(cls(y), 1.0, output_type="dict").values()])

    return of_trees


TURN = np.array([0.3, -0.2, 0.5])
TURNS = np.random.default_rng(3).normal(size=(3, 3))
WHOLE = Rotation.from_rotvec(TURN)
QUATS = np.random.default_rng(4).normal(size=(3, 4))
OBLIQUE = np.eye(3) + 0.2 * np.random.default_rng(5).normal(size=(3, 3))


def named(f: Any) -> Any:
    """A rotation by what `f` makes of the arguments, as a matrix."""

    def matrix(*args: Any) -> Any:
        return f(*args).as_matrix()

    return matrix


def form(name: str, *words: Any) -> Any:
    """What a rotation is in another form."""

    def of_turn(turn: Any) -> Any:
        return getattr(Rotation.from_rotvec(turn), name)(*words)

    return of_turn


def turned(turn: Any, points: Any) -> Any:
    return Rotation.from_rotvec(turn).apply(points)


def turned_back(turn: Any, points: Any) -> Any:
    return Rotation.from_rotvec(turn).apply(points, inverse=True)


def by_a_constant(points: Any) -> Any:
    return WHOLE.apply(points)


def aligned(a: Any, b: Any) -> Any:
    rotation, distance = Rotation.align_vectors(a, b)
    return rotation.as_matrix(), distance


def between(turns: Any, t: Any) -> Any:
    return Slerp([0.0, 1.0, 2.0], Rotation.from_rotvec(turns))(t).as_quat()


def along_spline(t: Any) -> Any:
    return RotationSpline([0.0, 1.0, 2.0], Rotation.from_quat(QUATS))(t).as_matrix()


def one_by_one(turns: Any) -> Any:
    rotations = Rotation.from_rotvec(turns)
    return [r.apply(TURN) for r in rotations], rotations[1:].as_quat(), len(rotations)


def rigid(turn: Any, shift: Any, points: Any) -> Any:
    move = transform.RigidTransform.from_components(shift, Rotation.from_rotvec(turn))
    return (move * move.inv() ** 0.5).apply(points), move.as_exp_coords(), move.as_dual_quat()


def hull(points: Any) -> Any:
    of = ConvexHull(points)
    return of.volume, of.area, of.equations, of.points[of.vertices]


def triangles(points: Any) -> Any:
    of = Delaunay(points)
    return np.linalg.det(of.points[of.simplices][:, 1:] - of.points[of.simplices][:, :1]), of.points[of.convex_hull]


def cells(points: Any) -> Any:
    of = SphericalVoronoi(points / np.sqrt(np.sum(points**2, axis=1, keepdims=True)))
    return of.vertices, of.calculate_areas()


def arc(turn: Any, t: Any) -> Any:
    return geometric_slerp(turn / np.sqrt(np.sum(turn**2)), np.array([0.0, 0.0, 1.0]), t)


def coded(points: Any, codes: Any) -> Any:
    return vq.vq(points, codes)[1]


def clustered(points: Any) -> Any:
    return *vq.kmeans(points, points[:3]), vq.kmeans2(points, points[:3], minit="matrix")[0]


BALL = np.random.default_rng(6).normal(size=(12, 3))
OF_ROTATIONS = [
    call(turned, TURN, A),
    call(turned, TURNS[:1], A[0]),
    call(turned, np.zeros(3), A),
    call(turned_back, TURNS, B),
    call(by_a_constant, A),
    *[call(form(name), turn) for name in ("as_quat", "as_mrp", "as_rotvec", "magnitude") for turn in (TURN, TURNS)],
    *[call(form("as_euler", axes), TURN) for axes in ("xyz", "ZXZ")],
    call(form("as_euler", "ZYX", True), TURNS),
    call(form("as_davenport", np.eye(3), "extrinsic"), TURN),
    call(named(Rotation.from_quat), QUATS),
    call(named(Rotation.from_mrp), TURN),
    call(named(lambda a: Rotation.from_euler("ZYX", a, degrees=True)), TURN * 50),
    call(named(lambda a: Rotation.from_euler("z", a)), 0.3),
    *[call(named(Rotation.from_matrix), matrix) for matrix in (OBLIQUE, WHOLE.as_matrix(), np.stack([OBLIQUE] * 2))],
    call(named(lambda a, b: Rotation.from_rotvec(a) * Rotation.from_rotvec(b).inv()), TURN, TURNS),
    call(named(lambda a, n: Rotation.from_rotvec(a) ** n), TURN, 0.7),
    call(named(lambda a, w: Rotation.from_rotvec(a).mean(weights=w)), TURNS, W),
    call(named(lambda a: Rotation.from_rotvec(a).reduce(Rotation.create_group("C3"))), TURN),
    call(aligned, A, A[:, ::-1] + 0.1),
    call(between, TURNS, np.array([0.3, 1.4])),
    call(along_spline, np.array([0.3, 1.4])),
    call(one_by_one, TURNS),
]

BY_HAND = {hulls.lifted}  # which has no derivative

TRACED = [
    *OF_ROTATIONS,
    *([call(rigid, TURN, A[0], B)] if hasattr(transform, "RigidTransform") else []),
    *[call(f, points) for f in (hull, triangles) for points in (BALL, BALL[:, :2])],
    call(cells, BALL),
    call(arc, TURN, np.array([0.2, 0.7])),
    call(coded, BALL, BALL[:3] + 0.1),
    call(coded, BALL[:, 0].copy(), BALL[:3, 0] + 0.1),
    call(clustered, BALL),
    call(vq.whiten, BALL),
    call(procrustes, A, A[:, ::-1] + 0.1),
    *[call(near(cls(CLOUD)), A) for cls in TREES],
    *[call(near(cls(CLOUD), k=3, p=3), A) for cls in TREES],
    *[call(near(cls(CLOUD), k=[2]), A[0]) for cls in TREES],
    *[call(near_of(cls), CLOUD, A) for cls in TREES],
    *[call(near_of(cls, boxsize=2.2), CLOUD, A, k=2) for cls in TREES],
    *[call(energy(cls), CLOUD) for cls in TREES],
    *[call(of(cls), CLOUD, A) for cls in TREES for of in (kernel, sparse)],
    *[call(cdist(metric), A, B) for metric in SMOOTH],
    *[call(pdist(metric), A) for metric in SMOOTH],
    *[call(weighted(metric), A, B, W) for metric in WEIGHTED],
    *[call(of_truths(metric), W) for metric in OF_TRUTHS],
    *[call(by_minkowski, A, B, p) for p in (1.5, 3.0)],
    *[call(cdist("minkowski"), A, B, p=p, w=W) for p in (1, 2, 3.5, np.inf)],
    call(by_variances, A, B, W),
    call(by_covariance, A, B, np.eye(3) + 0.1 * B),
    call(cdist("euclidean"), A, A[:2]),
    call(into, A, B),
    call(squared, A),
    call(farthest, A, B),
    call(distance_matrix, A, B),
    call(minkowski_distance, A[:3], B),
]
