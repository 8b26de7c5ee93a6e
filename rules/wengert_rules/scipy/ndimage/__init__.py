"""Rules for scipy.ndimage: filters by weights and by order, splines, and filters of spectra."""

from __future__ import annotations

from wengert_rules.scipy.ndimage import correlations, selections, spectra, splines
