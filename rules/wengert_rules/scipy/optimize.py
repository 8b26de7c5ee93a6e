"""Rules for scipy.optimize: roots and minima, differentiated implicitly."""

from __future__ import annotations
