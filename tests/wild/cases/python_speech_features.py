"""python_speech_features: features of speech."""

import numpy as np
from case import case
from python_speech_features import mfcc, sigproc

Y = np.sin(0.3 * np.arange(600.0)) + 0.3 * np.cos(0.9 * np.arange(600.0))


@case(Y)
def preemphasis(y):
    return sigproc.preemphasis(y)


@case(Y)
def frames(y):
    return sigproc.framesig(y, 200, 100)


@case(Y)
def cepstrum(y):
    return mfcc(y, 8000, nfft=256)
