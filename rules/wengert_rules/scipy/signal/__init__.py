"""Rules for scipy.signal: convolutions and filters; most of it is Python over these and Fourier transforms."""

from __future__ import annotations

from wengert_rules.scipy.signal import convolutions, filters, peaks
