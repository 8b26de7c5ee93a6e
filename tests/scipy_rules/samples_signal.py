"""Samples of scipy.signal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.signal as sg
from sampling import Sample, call, values

X, LONG, IMAGE = values(14, low=-1), values(60, low=-1), values(5, 6, low=-1)
TAPS, KERNEL = values(4), values(2, 3)
B, A = np.array([0.3, 0.2, 0.1]), np.array([1.2, -0.4, 0.15])
SOS = sg.butter(4, 0.3, output="sos")
T = np.linspace(0.1, 2.1, 6)
SYSTEM = (np.array([[-0.5, 0.2], [0.1, -0.8]]), np.array([[1.0], [0.5]]), np.array([[1.0, 2.0]]), np.array([[0.3]]))
ZEROS, POLES = np.array([0.1, 0.2]), np.array([0.3, 0.4])


SHAPES = (((5,), (3,)), ((3,), (4,)), ((1,), (3,)), ((3, 4), (2, 3)), ((3, 4), (3, 2)), ((2, 3, 2), (2, 2, 1)))


def convolutions() -> Iterator[Sample]:
    for f in (sg.convolve, sg.correlate):
        for n, m in SHAPES:
            for mode in ("full", "same", "valid"):
                yield call(f, values(*n), values(*m), mode)
                yield call(f, values(*n, dtype=complex), values(*m, dtype=complex), mode=mode, method="fft")
            yield call(f, values(*n), values(*m), "full", "direct")
        yield call(f, values(4, dtype=np.float32), values(3, dtype=np.float32))
        yield call(f, values(5, dtype=complex), values(3))


def filters() -> Iterator[Sample]:
    for b, a in ((B, A), (B, A[:2]), (B[:2], A), (B, np.array([2.0])), (B[:1], A), (B[:1], A[:1])):
        order = max(len(b), len(a)) - 1
        x = values(2, 5)
        yield call(sg.lfilter, b, a, values(6))
        yield call(sg.lfilter, b, a, x)
        yield call(sg.lfilter, b, a, x, 0)
        yield call(sg.lfilter, b, a, values(6), -1, values(order))
        yield call(sg.lfilter, b, a, x, axis=0, zi=values(order, 5))
        yield call(sg.lfilter, b, a, x, axis=-1, zi=values(1, order))
        yield call(sg.lfilter, b, a, values(1), zi=values(order))
        complexes = [values(n, dtype=complex) for n in (6, order)]
        yield call(sg.lfilter, b + 0.3j, a + 0.2j, complexes[0], -1, complexes[1])
    yield call(sg.lfilter, B, 1.5, values(5))
    yield call(sg.lfilter, 0.5, A, values(5))
    yield call(sg.lfilter, B.astype(np.float32), A.astype(np.float32), values(5, dtype=np.float32))


def resampled() -> Iterator[Sample]:
    yield call(sg.upfirdn, values(3), values(5))
    for up, down in ((1, 1), (2, 1), (1, 3), (3, 2), (2, 3)):
        for taps in (1, 2, 5):
            yield call(sg.upfirdn, values(taps), values(6), up, down)
        yield call(sg.upfirdn, values(4), values(5, 2), up, down, 0)
    yield call(sg.upfirdn, values(3, dtype=complex), values(5, dtype=complex), 2, 3)


SAMPLES = [*convolutions(), *filters(), *resampled()]


def of(f: Callable[..., Any], **words: Any) -> Callable[..., Any]:
    """The function with these keywords, which the samples do not differentiate by."""
    return lambda *args: f(*args, **words)


def second(f: Callable[..., Any], **words: Any) -> Callable[..., Any]:
    """The second result."""
    return lambda *args: f(*args, **words)[1]


def traced_convolutions() -> Iterator[Sample]:
    for f in (sg.fftconvolve, sg.oaconvolve):
        for mode in ("full", "same", "valid"):
            yield call(of(f, mode=mode), X, TAPS)
        yield call(of(f, mode="full", axes=1), IMAGE, KERNEL[:1])
    for f in (sg.convolve2d, sg.correlate2d):
        for mode in ("full", "same", "valid"):
            for boundary in ("fill", "wrap", "symm"):
                yield call(of(f, mode=mode, boundary=boundary, fillvalue=0.5), IMAGE, KERNEL)
    yield call(sg.sepfir2d, IMAGE, values(3), values(3))
    yield call(of(sg.wiener, mysize=3), X)
    yield call(sg.deconvolve, X, TAPS)
    yield call(lambda x: sg.convolve(x, x, method=sg.choose_conv_method(x, x)), X)
    yield call(lambda x: sg.correlation_lags(3, 4) * x[0], X)


def traced_filters() -> Iterator[Sample]:
    yield call(sg.lfilter_zi, B, A)
    yield call(lambda b, a: sg.lfiltic(b, a, [0.1, 0.2], [0.3, 0.4]), B, A)
    yield call(sg.filtfilt, B, A, X)
    yield call(of(sg.filtfilt, method="gust"), B, A, X)
    yield call(of(sg.filtfilt, padtype="even", padlen=4), B, A, X)
    yield call(lambda x: sg.sosfilt(SOS, x), X)
    yield call(lambda b: sg.sosfilt(np.concatenate([b, SOS[:, 3:]], axis=1), X), SOS[:, :3])
    yield call(lambda x, zi: sg.sosfilt(SOS, x, zi=zi), X, values(2, 2))
    yield call(lambda x: sg.sosfiltfilt(SOS, x), LONG)
    yield call(lambda b: sg.sosfilt_zi(np.concatenate([b, SOS[:, 3:]], axis=1)), SOS[:, :3])
    for f in (sg.hilbert, sg.hilbert2, of(sg.detrend), of(sg.detrend, type="constant"), of(sg.resample, num=8)):
        yield call(f, IMAGE if f is sg.hilbert2 else X)
    for mode in ("interp", "mirror", "constant", "nearest", "wrap"):
        yield call(of(sg.savgol_filter, window_length=5, polyorder=2, mode=mode), X)
    yield call(lambda delta: sg.savgol_coeffs(5, 2, 1, delta), 0.5)
    yield call(of(sg.resample_poly, up=3, down=2), X)
    yield call(of(sg.decimate, q=3), LONG)
    yield call(of(sg.decimate, q=3, ftype="fir"), LONG)
    yield call(of(sg.medfilt, kernel_size=3), X)
    yield call(of(sg.medfilt2d, kernel_size=3), IMAGE)
    yield call(lambda x: sg.order_filter(x, np.ones(3), 1), X)
    yield call(lambda x: sg.envelope(x, (1, None)), X) if hasattr(sg, "envelope") else call(sg.hilbert, X)
    for f in (sg.cspline1d, sg.qspline1d):
        yield call(f, X)
    for f in (sg.cspline1d_eval, sg.qspline1d_eval):
        yield call(f, X, np.array([0.6, 3.2, 17.3]))
    yield call(lambda x: sg.gauss_spline(x, 2), X)


def traced_spectra() -> Iterator[Sample]:
    for f in (sg.welch, sg.periodogram):
        yield call(second(f, fs=2.0), LONG)
    yield call(second(sg.csd, nperseg=16), LONG, LONG[::-1].copy())
    yield call(second(sg.coherence, nperseg=16), LONG, LONG[::-1].copy())
    yield call(lambda x: sg.spectrogram(x, nperseg=16)[2], LONG)
    yield call(lambda x: sg.stft(x, nperseg=16)[2], LONG)
    yield call(lambda x: sg.istft(sg.stft(x, nperseg=16)[2], nperseg=16)[1], LONG)
    yield call(there_and_back, LONG)
    yield call(lambda x: sg.lombscargle(np.arange(14.0), x, [0.5, 1.0, 1.5]), X)
    yield call(of(sg.czt, m=7), X)
    yield call(lambda x: sg.zoom_fft(x, [0.1, 0.5], 7), X)
    yield call(lambda x: sg.CZT(14, 7)(x), X)
    yield call(lambda x: sg.ZoomFFT(14, 0.5, 7)(x), X)
    yield call(lambda w: sg.czt_points(7, w), 0.7 + 0.5j)
    yield call(sg.vectorstrength, X, 2.0)
    if hasattr(sg, "closest_STFT_dual_window"):
        yield call(lambda w: sg.closest_STFT_dual_window(w, 4)[0], values(8))


def there_and_back(x: Any) -> Any:
    transform = sg.ShortTimeFFT(sg.windows.hann(16), 8, 1.0)
    spectrum = transform.stft(x)
    return transform.istft(spectrum * np.abs(spectrum), k1=len(x))


def traced_systems() -> Iterator[Sample]:
    for f in (sg.freqz, sg.group_delay):
        yield call(lambda b, a, f=f: f((b, a), 8)[1] if f is sg.group_delay else f(b, a, 8)[1], B, A)
    yield call(lambda b, a: sg.freqs(b, a, [0.5, 1, 2])[1], B, A)
    yield call(lambda b: sg.sosfreqz(np.concatenate([b, SOS[:, 3:]], axis=1), 8)[1], SOS[:, :3])
    yield call(lambda z: sg.freqz_zpk(z, [0.3], 1.0, 8)[1], ZEROS)
    yield call(lambda z: sg.freqs_zpk(z, [0.3], 1.0, [0.5, 1.0])[1], ZEROS)
    yield call(lambda a, b, c, d, u: sg.lsim((a, b, c, d), u, T)[1], *SYSTEM, np.sin(T))
    yield call(lambda a, b, c, d, u: sg.dlsim((a, b, c, d, 1.0), u)[1], *SYSTEM, np.sin(T))
    for f in (sg.impulse, sg.step):
        yield call(lambda a, b, c, d, f=f: f((a, b, c, d), T=T)[1], *SYSTEM)
        yield call(lambda b, a, f=f: f((b, a), T=T)[1], B, A)
    for f in (sg.dimpulse, sg.dstep):
        yield call(lambda b, a, f=f: f((b, a, 1.0), n=6)[1], B, A)
    for f in (sg.bode, sg.freqresp):
        yield call(lambda b, a, f=f: f((b, a), w=[0.5, 1.0, 2.0])[1], B, A)
    for f in (sg.dbode, sg.dfreqresp):
        yield call(lambda b, a, f=f: f((b, a, 1.0), w=[0.5, 1.0, 2.0])[1], B, A)
    for method in ("zoh", "bilinear", "euler", "backward_diff", "foh"):
        yield call(lambda a, b, c, d, method=method: sg.cont2discrete((a, b, c, d), 0.1, method)[:4], *SYSTEM)
    yield call(sg.tf2ss, B, A)
    yield call(sg.ss2tf, *SYSTEM)
    yield call(sg.zpk2tf, ZEROS, POLES, 1.5)
    yield call(sg.tf2zpk, B, A)
    yield call(sg.zpk2ss, ZEROS, POLES, 1.5)
    yield call(lambda a: sg.ss2zpk(a, *SYSTEM[1:])[1], SYSTEM[0])
    yield call(lambda b: sg.tf2sos(b, A), B)
    yield call(lambda z: sg.zpk2sos(z, POLES, 1.5), ZEROS)
    yield call(lambda b: sg.sos2tf(np.concatenate([b, SOS[:, 3:]], axis=1)), SOS[:, :3])
    yield call(lambda b: sg.sos2zpk(np.concatenate([b, SOS[:, 3:]], axis=1))[2], values(2, 3))
    yield call(sg.abcd_normalize, *SYSTEM)
    yield call(lambda a: (sg.StateSpace(a, *SYSTEM[1:]) * 2.0).to_tf().den[1], SYSTEM[0])
    yield call(lambda b, a: sg.TransferFunction(b, a).to_ss().A, B, A)
    yield call(lambda b, a: sg.dlti(b, a, dt=1.0).to_ss().A, B, A)
    yield call(lambda b, a: sg.lti(b, a).output(np.sin(T), T)[1], B, A)
    yield call(lambda z: sg.ZerosPolesGain(z, POLES, 1.5).to_tf().num, ZEROS)


def traced_designs() -> Iterator[Sample]:
    yield call(sg.bilinear, B, A)
    for f in (sg.lp2lp, sg.lp2hp):
        yield call(lambda b, a, w, f=f: f(b, a, w), B, A, 2.0)
    for f in (sg.lp2bp, sg.lp2bs):
        yield call(lambda b, a, w, f=f: f(b, a, w, 0.5), B, A, 2.0)
    yield call(lambda z: sg.bilinear_zpk(z, POLES, 1.0, 1.0)[0], ZEROS)
    for f in (sg.lp2lp_zpk, sg.lp2hp_zpk):
        yield call(lambda z, w, f=f: f(z, POLES, 1.0, w)[0], ZEROS, 2.0)
    for f in (sg.lp2bp_zpk, sg.lp2bs_zpk):
        yield call(lambda z, w, f=f: f(z, POLES, 1.0, w, 0.5)[0], ZEROS, 2.0)
    yield call(sg.normalize, B, A)
    for f in (sg.cheb1ap, sg.cheb2ap):
        yield call(lambda r, f=f: f(3, r), 2.0)
    for f in (sg.cheb1ord, sg.cheb2ord):
        yield call(lambda w, f=f: f(w, 0.5, 1, 20)[1], 0.2)
    yield call(lambda w: sg.iirdesign(w, 0.5, 1, 20, ftype="butter"), 0.2)
    yield call(lambda w: sg.band_stop_obj(w, 0, np.array([0.1, 0.8]), np.array([0.3, 0.6]), 1, 20, "butter"), 0.2)
    yield call(lambda p: sg.unique_roots(p)[0], ZEROS)
    for f in (sg.invres, sg.invresz):
        yield call(lambda r, f=f: f(r, POLES, [])[0], ZEROS)
    for f in (sg.butter, sg.bessel):
        yield call(lambda w, f=f: f(3, w), 0.3)
    yield call(lambda w: sg.butter(4, w, output="sos"), 0.3)
    yield call(lambda w: sg.butter(2, w, "band"), np.array([0.2, 0.5]))
    yield call(lambda w: sg.butter(3, w, analog=True), 0.7)
    yield call(lambda r, w: sg.cheby1(3, r, w), 1.0, 0.3)
    yield call(lambda r, w: sg.cheby2(3, r, w), 20.0, 0.3)
    yield call(lambda w: sg.ellip(3, 1.0, 20.0, w), 0.3)
    yield call(lambda w: sg.iirfilter(3, w, btype="low"), 0.3)
    yield call(sg.iirnotch, 0.3, 30.0)
    yield call(sg.iirpeak, 0.3, 20.0)
    yield call(lambda q: sg.iircomb(0.25, q), 20.0)
    yield call(lambda f: sg.gammatone(f, "iir", fs=16.0), 2.0)
    yield call(lambda f: sg.gammatone(f, "fir", fs=16.0)[0], 2.0)
    yield call(lambda w: sg.buttord(w, 0.5, 1, 20)[1], 0.2)
    yield call(lambda w: sg.firwin(9, w), 0.3)
    yield call(lambda g: sg.firwin2(9, [0, 0.3, 1.0], g), np.array([1.0, 0.7, 0.0]))
    yield call(lambda d: sg.firls(9, [0, 0.3, 0.5, 1.0], d), np.array([1.0, 0.9, 0.2, 0.1]))
    yield call(sg.minimum_phase, np.array([0.1, 0.3, 0.6, 0.3, 0.1]))
    yield call(lambda r: sg.kaiserord(r, 0.1)[1], 60.0)
    yield call(sg.kaiser_beta, 60.0)
    yield call(lambda w: sg.kaiser_atten(9, w), 0.2)


def traced_windows() -> Iterator[Sample]:
    w = sg.windows
    yield call(lambda s: w.gaussian(7, s), 2.0)
    yield call(lambda p, s: w.general_gaussian(7, p, s), 1.5, 2.0)
    yield call(lambda s: w.tukey(9, s), 0.53)
    yield call(lambda s: w.exponential(7, tau=s), 2.0)
    yield call(lambda s: w.chebwin(7, s), 60.0)
    yield call(lambda s: w.taylor(9, 4, s), 30.0)
    yield call(lambda s: w.general_hamming(9, s), 0.6)
    yield call(lambda s: w.general_cosine(9, s), np.array([0.6, 0.4]))
    for f in (w.hann, w.boxcar, w.cosine):
        yield call(lambda x, f=f: f(14) * x, X)


def traced_waves() -> Iterator[Sample]:
    for method in ("linear", "quadratic", "logarithmic", "hyperbolic"):
        yield call(lambda t, f, method=method: sg.chirp(t, f, 2.0, 5.0, method), T, 1.0)
    yield call(sg.sweep_poly, T, np.array([0.1, 0.2, 0.3]))
    yield call(sg.sawtooth, T, 0.4)
    yield call(lambda t: sg.square(t) * t, T)
    yield call(sg.gausspulse, T, 3.0)
    yield call(lambda x: sg.unit_impulse(5) * x, 1.5)
    yield call(lambda x: sg.max_len_seq(3)[0] * x, 1.5)


def traced_peaks() -> Iterator[Sample]:
    yield call(lambda x: x[sg.find_peaks(x)[0]], X)
    yield call(lambda x: sg.find_peaks(x, height=0.1)[1]["peak_heights"], X)
    yield call(lambda x: sg.find_peaks(x, prominence=0.1, width=0.1)[1]["width_heights"], X)
    yield call(lambda x: sg.peak_prominences(x, sg.find_peaks(x)[0])[0], X)
    yield call(lambda x: sg.peak_widths(x, sg.find_peaks(x)[0])[0], X)
    yield call(lambda x: sg.peak_widths(x, sg.find_peaks(x)[0], 0.9)[2:], X)
    for f in (sg.argrelmax, sg.argrelmin):
        yield call(lambda x, f=f: x[f(x)[0]], X)
    yield call(lambda x: x[sg.argrelextrema(x, np.greater)[0]], X)
    yield call(lambda x: x[sg.find_peaks_cwt(x, [1, 2])], X)


TRACED = [
    *traced_convolutions(), *traced_filters(), *traced_spectra(), *traced_systems(), *traced_designs(),
    *traced_windows(), *traced_waves(), *traced_peaks(),
]  # fmt: skip
