"""Rules for scipy.cluster: which point is of which cluster is constant, distances and means are not."""

from __future__ import annotations

import numpy as np

from wengert.extend import non_differentiable, stands_for
from wengert_rules.scipy.optional import present
from wengert_rules.scipy.spatial.distances import euclidean

(of_code,) = present("cluster._vq.vq", "cluster.vq._vq.vq")
(of_means,) = present("cluster._vq.update_cluster_means", "cluster.vq._vq.update_cluster_means")


@non_differentiable
def codes(obs, codes):
    return of_code(obs, codes)[0]


def columns(x):
    return x if np.ndim(x) == 2 else x[:, np.newaxis]


@stands_for(of_code)
def vq(obs, code_book):
    """The code of each observation, and how far it is from it."""
    code = codes(obs, code_book)
    return code, euclidean(columns(obs), columns(code_book)[code])


@stands_for(of_means)
def update_cluster_means(obs, labels, nc):
    """The mean of each cluster, 0 where it has no members, and whether it has any."""
    belongs = np.equal(np.arange(nc)[:, np.newaxis], labels)
    count = np.sum(belongs, axis=1)
    means = (belongs @ columns(obs)) / np.maximum(count, 1)[:, np.newaxis]
    return np.reshape(means, (nc, *np.shape(obs)[1:])), count > 0
