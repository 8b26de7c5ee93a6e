"""HIPS autograd: its NumPy is a wrapper around NumPy's functions, which looks for autograd's own boxes."""

from __future__ import annotations

from autograd import tracer

from wengert.extend import computes_nothing

computes_nothing(tracer.find_top_boxed_args)
