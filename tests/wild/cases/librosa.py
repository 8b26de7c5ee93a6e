"""librosa: spectra and scales."""

import librosa
import numpy as np
from case import case

Y = np.sin(0.3 * np.arange(256.0)) + 0.3 * np.cos(0.9 * np.arange(256.0))


@case(np.array([440.0, 880.0]))
def hz_to_mel(f):
    return librosa.hz_to_mel(f) + librosa.hz_to_midi(f)


@case(Y, rtol=1e-5)
def power_to_db(y):
    return librosa.power_to_db(y**2 + 0.1, top_db=None)


@case(Y)
def short_time_fourier(y):
    return np.abs(librosa.stft(y, n_fft=64)).mean()


@case(Y)
def mel_spectrogram(y):
    return librosa.feature.melspectrogram(y=y, sr=8000, n_fft=64, n_mels=8).mean()


@case(Y)
def root_mean_square(y):
    return librosa.feature.rms(y=y, frame_length=64, hop_length=32, dtype=np.float64)
