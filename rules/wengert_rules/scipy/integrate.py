"""Rules for scipy.integrate: quadrature and differential equations."""

from __future__ import annotations
