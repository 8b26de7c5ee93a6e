"""scikit-image: metrics, filters, colours, transforms."""

import numpy as np
from case import case
from skimage import color, exposure, filters, metrics, transform, util

rng = np.random.default_rng(2)
IMAGE = rng.random((8, 8)) * 0.8 + 0.1
RGB = rng.random((2, 3, 3)) * 0.8 + 0.1


@case(IMAGE)
def mean_squared(x):
    return metrics.mean_squared_error(x, IMAGE.T) + metrics.peak_signal_noise_ratio(IMAGE.T, x, data_range=1.0)


@case(IMAGE)
def structural_similarity(x):
    return metrics.structural_similarity(x, IMAGE.T, data_range=1.0, win_size=3)


@case(IMAGE)
def gaussian_blur(x):
    return filters.gaussian(x, 1.0)


@case(IMAGE)
def sobel(x):
    return filters.sobel(x)


@case(RGB)
def rgb_to_lab(x):
    return color.rgb2lab(x)


@case(RGB)
def rgb_to_hsv(x):
    return color.rgb2hsv(x)


@case(RGB)
def rgb_to_gray(x):
    return color.rgb2gray(x)


@case(IMAGE)
def gamma(x):
    return exposure.adjust_gamma(x, 0.7)


@case(0.3)
def affine(angle):
    t = transform.SimilarityTransform(scale=1.2, rotation=angle, translation=(1.0, 2.0))
    return t(np.array([[1.0, 2.0], [0.5, -1.0]]))


@case(np.array([[0.0, 0.1], [1.0, 0.0], [0.9, 1.2], [0.1, 1.0]]))
def estimated_transform(p):
    return transform.estimate_transform("affine", p, np.array([[0.0, 0], [2, 0], [2, 3], [0, 3]])).params


@case(IMAGE)
def local_means(x):
    return transform.downscale_local_mean(x, (2, 2)) + util.view_as_blocks(x, (2, 2)).mean(axis=(2, 3))
