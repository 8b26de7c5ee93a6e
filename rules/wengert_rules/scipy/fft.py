"""Rules for scipy.fft: Fourier and related transforms."""

from __future__ import annotations
