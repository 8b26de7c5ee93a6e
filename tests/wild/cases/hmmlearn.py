"""hmmlearn: likelihoods of hidden Markov models."""

import numpy as np
from case import case
from hmmlearn import hmm

Z = np.array([[0.1], [0.9], [1.8], [0.2], [2.1]])


@case(np.array([[0.2], [1.9]]))
def gaussian_score(means):
    m = hmm.GaussianHMM(2, "diag")
    m.startprob_ = np.array([0.6, 0.4])
    m.transmat_ = np.array([[0.7, 0.3], [0.4, 0.6]])
    m.means_, m.covars_ = means, np.array([[0.5], [0.4]])
    return m.score(Z)


@case(np.array([[0.2], [1.9]]))
def gaussian_density(means):
    from hmmlearn.stats import log_multivariate_normal_density

    return log_multivariate_normal_density(Z, means, np.array([[0.5], [0.4]]), "diag")
