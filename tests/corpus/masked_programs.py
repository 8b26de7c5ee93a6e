"""Programs over masked arrays, which NumPy has in Python."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import numpy as np
import numpy.ma as ma
from program_table import A, V, Programs

program = Programs()


@program(V)
def masked_make(x):
    return ma.array(x, mask=np.array([False, True, False])).sum()


@program(V)
def masked_arith(x):
    m = ma.masked_array(x, mask=np.array([False, True, False]))
    n = m * 2 + x - m / 3 + 1 / m + m**2
    return n.sum() + (-m).sum() + (2 * m).mean()


@program(V)
def masked_filled(x):
    return (
        ma.array(x, mask=np.array([False, True, False])).filled(0.5).sum()
        + ma.filled(ma.array(x * x, mask=np.array([False, True, False])), 2.0).sum()
    )


@program(V)
def masked_compressed(x):
    return (ma.array(x, mask=np.array([False, True, False])).compressed() ** 2).sum()


@program(V)
def masked_where(x):
    m = ma.masked_where(x > 1, x)
    n = ma.masked_greater(x, 1.0)
    return m.sum() * n.mean() + ma.where(m > 0.5, m, 2 * m).sum()


@program(V)
def masked_invalid(x):
    with np.errstate(all="ignore"):
        return ma.masked_invalid(np.log(x - 0.5)).sum() + ma.log(ma.array(x - 0.5)).sum() + ma.sqrt(ma.array(x)).sum()


@program(A)
def masked_reductions(a):
    m = ma.array(a, mask=a > 1.5)
    return (
        m.sum(axis=0)[1]
        + m.mean(axis=1)[0]
        + m.std()
        + m.var(axis=0)[1]
        + m.max()
        + m.min(axis=1)[1]
        + m.prod()
        + m.cumsum()[2]
        + m.ptp()
    )


@program(A)
def masked_average(a):
    m = ma.array(a, mask=a > 1.5)
    return ma.average(m) + ma.average(m, axis=1, weights=[1.0, 2.0, 3.0])[0] + ma.median(m) + ma.dot(m, m.T).sum()


@program(V)
def masked_concat(x):
    m = ma.array(x, mask=np.array([False, True, False]))
    return (
        ma.concatenate([m, x]).sum()
        + ma.vstack([m, m])[0].sum()
        + ma.stack([m, m]).mean()
        + np.concatenate([m, x]).sum()
    )


@program(V)
def masked_items(x):
    m = ma.array(x, mask=np.array([False, True, False]))
    s = m[0] * m[2]
    m2 = m.copy()
    m2[1] = x[0]
    m2[0] = ma.masked
    return s + m2.sum() + m[::2].sum() + m[~np.array([False, True, False])].prod() + (0 if m[1] is ma.masked else 1)


@program(V)
def masked_inplace(x):
    m = ma.array(x, mask=np.array([False, True, False]), copy=True)
    m *= 2
    m += x
    m -= 1
    m /= 3.0
    m **= 2
    return m.sum()


@program(A)
def masked_shapes(a):
    m = ma.array(a, mask=a < 0)
    return (
        (m.T * m.reshape(3, 2)).sum()
        + m.ravel()[1]
        + m.flatten().sum()
        + ma.expand_dims(m, 0).squeeze().transpose().sum()
        + np.sum(m)
        + np.mean(m, axis=0)[1]
    )


@program(V)
def masked_data(x):
    m = ma.array(x, mask=np.array([False, True, False]))
    return (m.data**2).sum() + m.mask.sum() * x[0] + ma.getdata(m)[1] + ma.getmaskarray(m).sum() + m.count() * x[1]


@program(V)
def masked_sort(x):
    m = ma.array(x, mask=np.array([False, True, False]))
    n = ma.sort(m)
    m.sort()
    return m[0] * 2 + n[1]


@program(V)
def masked_hardmask(x):
    m = ma.array(x, mask=np.array([False, True, False]), hard_mask=True)
    m[:] = x**2
    m.fill_value = 9.0
    m.soften_mask()
    m[1] = 4 * x[0]
    return m.sum() + m.fill_value


@program(V)
def masked_polyfit(x):
    return (
        ma.polyfit(np.arange(3.0), ma.array(x, mask=[False, False, False]), 1).sum()
        + ma.cov(ma.array(x), x**2)[0, 1]
        + ma.corrcoef(x, x**2)[0, 1]
    )


@program(V)
def masked_choose(x):
    return (
        ma.take(ma.array(x, mask=np.array([False, True, False])), [0, 2]).sum()
        + ma.repeat(ma.array(x, mask=np.array([False, True, False])), 2).sum()
        + ma.diff(ma.array(x)).sum()
        + ma.compress([True, False, True], ma.array(x, mask=np.array([False, True, False]))).sum()
        + ma.inner(ma.array(x, mask=np.array([False, True, False])), x)
        + ma.outer(x, x).sum()
    )


@program(V)
def masked_moments_unmasked(x):
    return ma.var(ma.array(x)) + ma.std(ma.array(x) * 2) + np.square(ma.array(x), out=...).sum()


@program(A)
def masked_outer(a):
    m = ma.array(a, mask=a < 0)
    n = np.add.outer(m, a[0])
    return n.mean() * np.multiply.outer(a[1], m).sum() + (0 if n.mask.sum() == 3 else a[0, 0])


@program(V)
def masked_flat(x):
    m = ma.array(x, mask=np.array([False, True, False]))
    m.flat[2] = x[1] * 3
    m.flat[1:2] = x[0]
    return m.flat[0] * m.flat[2] + m.flat[1] + m.flat[1:].sum()
