"""A check of a call that is followed into its Python: gradients by differences, and tangents by the gradients."""

from __future__ import annotations

import numpy as np
from call_forms import gradient_outcome, keys_of
from sampled_pullbacks import is_usable, pieces
from sampling import Sample

import wengert as wg


def check_traced(sample: Sample) -> None:
    """Errors: AssertionError where the gradient is refused or differs, or the tangents do not agree with it."""
    assert gradient_outcome(sample, tuple(keys_of(sample))) == "right"
    if not is_usable(sample):
        return
    parts, xs, bars = pieces(sample)
    dots = [like(np.cos(np.arange(np.size(x)) + 1.0), x) for x in xs]
    pushed, pulled = wg.jvp(parts, xs, dots)[1], wg.vjp(parts, *xs)[1](bars)
    np.testing.assert_allclose(product(bars, pushed), product(pulled, dots), rtol=1e-6, atol=1e-9)


def like(dot: np.ndarray, x: object) -> object:
    """Numbers in the form of x, which may be a list of arrays."""
    if isinstance(x, (list, tuple)):
        return type(x)([like(np.cos(np.arange(np.size(part)) + 1.0), part) for part in x])
    made = dot.reshape(np.shape(x)).astype(np.asarray(x).dtype)
    return made if isinstance(x, np.ndarray) else type(x)(made)


def product(bars: object, dots: object) -> float:
    """The sum of the products of all numbers in two structures; None is zero."""
    if bars is None or dots is None:
        return 0.0
    if isinstance(bars, (list, tuple)):
        return sum(product(bar, dot) for bar, dot in zip(bars, dots, strict=True))
    return float(np.sum(np.real(np.asarray(bars) * dots)))
