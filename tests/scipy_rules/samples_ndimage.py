"""Samples of scipy.ndimage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.ndimage as nd
from sampling import Sample, call, values

from wengert_rules.scipy.ndimage import selections

MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-constant", "grid-mirror", "grid-wrap")
IMAGE, ROW = values(5, 6, low=-1), values(8, low=-1)
COORDINATES = values(2, 5, low=-4.13, high=9.3)
LABELS, INDEX = np.array([[1, 1, 2, 2, 0, 0], [1, 1, 2, 2, 0, 3], [3, 3, 3, 0, 2, 1]])[[0, 1, 2, 1, 0]], [1, 2, 3]
CROSS = np.array([[1, 0, 1], [0, 1, 0]], bool)
LIFT = np.array([[0.1, 0.2, 0.3], [0.0, 1.0, 0.2]])


def correlations() -> Iterator[Sample]:
    for mode in MODES:
        for size in (1, 2, 3, 7):
            for origin in range(-(size // 2), (size + 1) // 2):
                yield call(nd.correlate1d, values(5), values(size), mode=mode, cval=2, origin=origin)
                yield call(nd.uniform_filter1d, values(5), size, mode=mode, cval=2, origin=origin)
        yield call(nd.correlate1d, values(3, 4, dtype=complex), values(2, dtype=complex), 0, mode=mode)
        for f in (nd.correlate, nd.convolve):
            yield call(f, values(4, 3), values(2, 3), mode=mode, cval=2, origin=(-1, 0))
            yield call(f, values(3, 4, dtype=complex), values(2, 2, dtype=complex), None, mode)
    yield call(nd.correlate1d, values(4), values(3))
    yield call(nd.uniform_filter1d, values(3, 4), 3, 0)
    for f in (nd.correlate, nd.convolve):
        yield call(f, values(4, 3), values(3, 2))
        yield call(f, values(4, dtype=np.float32), values(2, dtype=np.float32))


def spectra() -> Iterator[Sample]:
    for f in (nd.fourier_gaussian, nd.fourier_uniform, nd.fourier_ellipsoid, nd.fourier_shift):
        for size in (2, [1, 2]):
            yield call(f, values(3, 4, dtype=complex), size)
            yield call(f, values(3, 3, dtype=complex), size, n=4)


def splines() -> Iterator[Sample]:
    for order in range(6):
        for mode in MODES:
            yield call(nd.spline_filter1d, values(5), order, mode=mode)
        yield call(nd.spline_filter1d, values(3, 2), order, 0)
        yield call(nd.spline_filter1d, values(1, 2), order, axis=0, mode="reflect")


def chosen() -> Iterator[Sample]:
    """The parts of filters that C computes."""
    for mode in range(5):
        words: dict[str, Any] = {"mode": mode, "cval": 0, "origins": [0, -1]}
        yield call(selections.ranked, IMAGE, footprint=CROSS, rank=1, **words)
        for minimum in (True, False):
            for structure in (None, LIFT):
                yield call(selections.extreme, IMAGE, footprint=CROSS, structure=structure, minimum=minimum, **words)
            row = words | {"footprint": np.ones((1, 3), bool), "axis": 1, "minimum": minimum}
            yield call(selections.extreme_in_row, IMAGE, **row)
        if selections.RANK_IN_ROW:
            words |= {"footprint": np.ones(3, bool), "origins": [1], "rank": 1}
            yield call(selections.ranked_in_row, ROW, **words)


SAMPLES = [*correlations(), *spectra(), *splines(), *chosen()]


def of(f: Callable[..., Any], *args: Any, **words: Any) -> Callable[..., Any]:
    """The function with these arguments behind the image, which the samples do not differentiate by."""
    return lambda x: f(x, *args, **words)


def filtered() -> Iterator[Sample]:
    for mode in MODES:
        yield call(lambda x, s, mode=mode: nd.gaussian_filter(x, s, mode=mode), IMAGE, 1.2)
        yield call(lambda x, s, mode=mode: nd.gaussian_filter1d(x, s, order=1, mode=mode, cval=0.5), ROW, 1.2)
        for f in (nd.maximum_filter, nd.minimum_filter, nd.median_filter):
            yield call(of(f, 3, mode=mode), IMAGE)
        yield call(of(nd.minimum_filter1d, 4, mode=mode, origin=-1, cval=-5), ROW)
        yield call(of(nd.maximum_filter, footprint=CROSS, mode=mode), IMAGE)
        yield call(of(nd.median_filter, 3, mode=mode), ROW)
        yield call(of(nd.rank_filter, 2, 3, mode=mode), IMAGE)
        yield call(of(nd.percentile_filter, 30, 3, mode=mode), IMAGE)
        yield call(of(nd.grey_erosion, structure=LIFT, mode=mode), IMAGE)
    for f in (nd.sobel, nd.prewitt, nd.laplace, of(nd.uniform_filter, (2, 3)), nd.spline_filter):
        yield call(f, IMAGE)
    for f in (nd.gaussian_laplace, nd.gaussian_gradient_magnitude):
        yield call(f, IMAGE, 1.1)
    yield call(nd.convolve1d, ROW, values(4))
    yield call(of(nd.generic_laplace, second_difference), IMAGE)
    yield call(of(nd.generic_gradient_magnitude, nd.sobel), IMAGE)
    yield call(of(nd.generic_filter, np.prod, footprint=CROSS, mode="mirror"), IMAGE)
    yield call(of(nd.generic_filter1d, products_of_neighbours, 3, axis=0, mode="wrap"), IMAGE)
    yield call(lambda x: nd.gaussian_filter(x * x, 1.0, output=np.empty(x.shape)), IMAGE)
    yield call(lambda x: np.fft.ifftn(nd.fourier_gaussian(np.fft.fftn(x), 1.0)).real, IMAGE)


def second_difference(x: Any, axis: Any, output: Any, mode: Any, cval: Any) -> Any:
    return nd.correlate1d(x, [1, -2, 1], axis, output, mode, cval)


def products_of_neighbours(line: Any, result: Any) -> None:
    result[...] = line[2:] * line[:-2]


def morphology() -> Iterator[Sample]:
    structure = np.array([[0.1, 0.2, 0.3], [0.0, 1.0, 0.2], [0.3, 0.1, 0.2]])
    for f in (
        nd.grey_dilation, nd.grey_opening, nd.grey_closing, nd.morphological_gradient, nd.morphological_laplace,
        nd.white_tophat, nd.black_tophat,
    ):  # fmt: skip
        yield call(of(f, size=(3, 3)), IMAGE)
        yield call(of(f, structure=structure), IMAGE)
    yield call(lambda x: nd.binary_dilation(x > 0) * x, IMAGE)
    yield call(lambda x: nd.distance_transform_edt(x > 0) * x, IMAGE)
    yield call(lambda x: nd.label(x > 0)[0] * x, IMAGE)


def measured() -> Iterator[Sample]:
    for f in (
        nd.sum, nd.sum_labels, nd.mean, nd.variance, nd.standard_deviation, nd.maximum, nd.minimum, nd.median,
    ):  # fmt: skip
        yield call(of(f, LABELS, INDEX), IMAGE)
        yield call(f, IMAGE)
    yield call(lambda x: nd.extrema(x, LABELS, INDEX)[:2], IMAGE)
    yield call(lambda x: nd.center_of_mass(x * x, LABELS, INDEX), IMAGE)
    yield call(lambda x: x[nd.maximum_position(x)] - x[nd.minimum_position(x)], IMAGE)
    yield call(of(nd.labeled_comprehension, LABELS, INDEX, np.sum, float, 0.0), IMAGE)
    yield call(lambda x: x[nd.find_objects(LABELS)[0]], IMAGE)


def interpolated() -> Iterator[Sample]:
    for mode in MODES:
        for order in range(6):
            read = {"order": order, "mode": mode, "cval": 0.3}
            yield call(lambda x, at, read=read: nd.map_coordinates(x, at, **read), IMAGE, COORDINATES)
        read = {"mode": mode, "cval": 0.3}
        yield call(lambda x, by, read=read: nd.shift(x, by, **read), IMAGE, np.array([0.73, -1.31]))
        yield call(lambda x, by, read=read: nd.shift(x, by, order=2, **read), IMAGE, np.array([0.73, -1.31]))
        yield call(of(nd.zoom, 1.6, **read), IMAGE)
        yield call(lambda x, angle, read=read: nd.rotate(x, angle, **read), IMAGE, 23.3)
        matrix, offset = np.array([[0.83, 0.11], [-0.22, 1.13]]), np.array([0.37, 0.24])
        yield call(lambda x, m, by, read=read: nd.affine_transform(x, m, by, **read), IMAGE, matrix, offset)
        yield call(lambda x, m, by, read=read: nd.affine_transform(x, m, by, **read), IMAGE, np.diag(matrix), offset)
    yield call(of(nd.zoom, 1.6, mode="grid-wrap", grid_mode=True), IMAGE)
    yield call(turned, IMAGE, 0.9)
    yield call(lambda x: nd.map_coordinates(x, COORDINATES), IMAGE * (1 + 0.5j))


def turned(x: Any, share: Any) -> Any:
    return nd.geometric_transform(x, lambda at: (at[0] * share + 0.3, at[1] - 0.4 * share))


TRACED = [*filtered(), *morphology(), *measured(), *interpolated()]
