"""Programs over arrays of classes made from `np.ndarray`, whose methods NumPy calls."""

# ruff: noqa (the programs say things the long way: it is the long way that is tested)

from __future__ import annotations

import numpy as np
from program_table import A, V, Programs

program = Programs()


class Tagged(np.ndarray):
    """The class of NumPy's own guide."""

    def __new__(cls, a, info=None):
        obj = np.asarray(a).view(cls)
        obj.info = info
        return obj

    def __array_finalize__(self, obj):
        if obj is None:
            return
        self.info = getattr(obj, "info", None)


class Logged(np.ndarray):
    """NumPy's guide on __array_ufunc__."""

    def __new__(cls, a, info=None):
        obj = np.asarray(a).view(cls)
        obj.info = info
        return obj

    def __array_finalize__(self, obj):
        self.info = getattr(obj, "info", None)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        args = []
        for i, input_ in enumerate(inputs):
            args.append(input_.view(np.ndarray) if isinstance(input_, Logged) else input_)
        outputs = out
        if outputs:
            out_args = []
            for j, output in enumerate(outputs):
                out_args.append(output.view(np.ndarray) if isinstance(output, Logged) else output)
            kwargs["out"] = tuple(out_args)
        else:
            outputs = (None,) * ufunc.nout
        results = super().__array_ufunc__(ufunc, method, *args, **kwargs)
        if results is NotImplemented:
            return NotImplemented
        if method == "at":
            return
        if ufunc.nout == 1:
            results = (results,)
        results = tuple(
            (np.asarray(result).view(Logged) if output is None else output) for result, output in zip(results, outputs)
        )
        if results and isinstance(results[0], Logged):
            results[0].info = ufunc.__name__
        return results[0] if len(results) == 1 else results


class Metres(np.ndarray):
    """A quantity: scale to metres."""

    def __new__(cls, a, scale=1.0):
        obj = np.array(a, dtype=float, copy=True).view(cls)
        obj.scale = scale
        return obj

    def __array_finalize__(self, obj):
        self.scale = getattr(obj, "scale", 1.0)

    @property
    def value(self):
        return self.view(np.ndarray)

    def to(self, scale):
        return self._new(self.value * (self.scale / scale), scale)

    def _new(self, a, scale):
        made = np.asarray(a).view(Metres)
        made.scale = scale
        return made

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if ufunc in (np.add, np.subtract, np.maximum) and method == "__call__":
            inputs = [i.to(self.scale).value if isinstance(i, Metres) else i for i in inputs]
            return self._new(super().__array_ufunc__(ufunc, method, *inputs, **kwargs), self.scale)
        if ufunc is np.multiply and method == "__call__":
            s = 1.0
            for i in inputs:
                s *= getattr(i, "scale", 1.0)
            inputs = [i.value if isinstance(i, Metres) else i for i in inputs]
            return self._new(super().__array_ufunc__(ufunc, method, *inputs, **kwargs), s)
        inputs = [i.value if isinstance(i, Metres) else i for i in inputs]
        if kwargs.get("out"):
            kwargs["out"] = tuple(o.value if isinstance(o, Metres) else o for o in kwargs["out"])
        out = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        return self._new(out, self.scale)

    def __array_function__(self, func, types, args, kwargs):
        return super().__array_function__(func, types, args, kwargs)

    def __getitem__(self, k):
        out = super().__getitem__(k)
        return self._new(out, self.scale) if not isinstance(out, Metres) else out


class Wrapped(np.ndarray):
    """__array_wrap__ that changes numbers."""

    def __array_finalize__(self, obj):
        self.count = getattr(obj, "count", 0)

    def __array_wrap__(self, arr, context=None, return_scalar=False):
        arr = super().__array_wrap__(arr, context, return_scalar)
        if context is not None and context[0] is np.multiply:
            arr = arr * 1 if False else arr.view(np.ndarray) * 2.0
            arr = arr.view(Wrapped)
        return arr


class Periodic(np.ndarray):
    def __getitem__(self, k):
        if isinstance(k, int):
            k = k % len(self)
        return super().__getitem__(k)

    def __add__(self, other):
        return np.ndarray.__add__(self, other) * 1.5

    def __matmul__(self, other):
        return np.dot(np.asarray(self), np.asarray(other)) + 1.0


@program(V)
def view_sub(x):
    return np.sum(np.asarray(x.view(Tagged)) ** 2)


@program(V)
def tagged_arith(x):
    t = Tagged(x, info="m")
    u = t * 2 + np.sin(t)
    v = u[1:] ** 2
    assert type(v) is Tagged and v.info == "m"
    return float(v.sum())


@program(A)
def tagged_funcs(a):
    t = Tagged(a, "z")
    s = np.sum(t, axis=0) * np.mean(t) + t.T.reshape(3, 2)[:, 0] + np.concatenate([t[0, :1], t[1, 1:]])
    assert type(s) is Tagged and s.info == "z"
    return np.dot(s, s)


@program(A)
def tagged_linalg(a):
    t = Tagged(a)
    return np.linalg.norm(t @ t.T) + np.linalg.inv(t @ t.T + np.eye(2))[0, 1]


@program(A)
def tagged_write(a):
    t = Tagged(a * 1.0)
    t[0] *= t[1]
    t[1, 1] = 3 * t[0, 0]
    t += 1
    return float((t * t).sum())


@program(V)
def logged(x):
    t = Logged(x, "a")
    u = np.exp(t) * t + 1
    assert u.info == "add"
    np.multiply(u, 2, out=u)
    v, w = np.modf(u)
    return float(np.add.reduce(u) + v.sum() + u.sum() + np.sum(u) + u.max() + np.mean(u))


@program(V)
def metres(x):
    a = Metres(x, 1.0)
    b = Metres(x * 2, 1000.0)
    c = a + b
    d = (b + a) * b
    return np.sum(c.value) + np.sum(d.to(1.0).value) + (a - b).sum().to(1.0).value * 1.0


@program(V)
def metres_funcs(x):
    a = Metres(x, 3.0)
    return (
        np.concatenate([a, a[:2]]).view(np.ndarray).sum()
        + np.sum(a).to(1.0).value
        + np.mean(a).to(1.0).value
        + a.std().value
        + np.dot(a, a).view(np.ndarray)
        + np.where(a.value > 0.5, a, 2 * a).view(np.ndarray).sum()
    )


@program(V)
def wrapped(x):
    w = x.view(Wrapped)
    return np.sum(np.asarray(w * x)) + np.sum(np.asarray(np.sin(w)))


@program(V)
def periodic(x):
    p = x.view(Periodic)
    return p[4] * p[1] + np.sum(np.asarray(p + x)) + p @ x


@program(A)
def matrix(a):
    m = np.matrix(a)
    n = np.asmatrix(a)
    return float((m * n.T)[0, 1] + (m.T * m)[2, 0] + m.sum() + m.A1[2] * m[0, 1])


@program(A)
def matrix2(a):
    m = np.matrix(a)
    s = m * m.T
    return (
        (s.I)[0, 0]
        + (s**2)[1, 0]
        + np.linalg.det(s)
        + m.sum(axis=0)[0, 1] * m.mean(1)[1, 0]
        + np.trace(s)
        + m.flatten()[0, 2]
        + m[0].max()
    )


@program(A)
def matrix3(a):
    m = np.mat(a) if hasattr(np, "mat") else np.asmatrix(a)
    c = np.bmat([[m, m]])
    return float(
        np.sum(c[0])
        + np.sum(m, axis=0)[0, 1]
        + np.multiply(m, m)[1, 1]
        + (2 * m - m / 3)[0, 0]
        + m.getA()[0, 1]
        + m.H[0, 0]
        + np.linalg.solve(m * m.T, m)[0, 0]
    )


@program(V)
def finalize_computes(x):
    class Peak(np.ndarray):
        def __array_finalize__(self, obj):
            self.peak = (
                np.max(np.asarray(self))
                if isinstance(obj, np.ndarray) and type(obj) is np.ndarray
                else getattr(obj, "peak", 0.0)
            )

    p = x.view(Peak)
    return np.sum(np.asarray(p / p.peak)) + p.peak


@program(V)
def finalize_writes(x):
    class Clipped(np.ndarray):
        def __array_finalize__(self, obj):
            if type(obj) is np.ndarray:
                self[self > 1] = 0.5

    return np.sum((np.asarray((x * 2).view(Clipped))) ** 2)


@program(V)
def attr_traced(x):
    t = Tagged(x, info=x[0] * 2)
    u = t * 3
    return float(np.sum(u) * u.info)


@program(V)
def ndarray_new(x):
    class P(np.ndarray):
        def __new__(cls, a):
            obj = super().__new__(cls, (len(a),), float)
            obj[:] = a
            return obj

    return float((P(x) ** 2).sum())


@program(V)
def ndarray_new_buffer(x):
    class P(np.ndarray):
        def __new__(cls, a):
            return np.ndarray.__new__(cls, a.shape, a.dtype, buffer=a)

    return float((P(x * 1.0) ** 2).sum())


@program(V)
def func_override(x):
    class F(np.ndarray):
        def __array_function__(self, func, types, args, kwargs):
            if func is np.sum:
                return 2 * np.sum(np.asarray(args[0]))
            if func is np.mean:
                return NotImplemented
            return super().__array_function__(func, types, args, kwargs)

    f = x.view(F)
    e = 0
    try:
        np.mean(f)
    except TypeError:
        e = 1
    return float(
        np.sum(f)
        + float(np.dot(f, f))
        + np.ptp(f)
        + np.prod(f)
        + np.linalg.norm(f)
        + np.asarray(np.stack([f, f])).sum()
        + e
    )


@program(V)
def func_override_beside_arrays(x):
    """Arrays that override nothing are named among the classes, and have the function as it is."""

    class F(np.ndarray):
        def __array_function__(self, func, types, args, kwargs):
            if not all(issubclass(t, F) for t in types):
                return NotImplemented
            return 2 * np.asarray(super().__array_function__(func, types, args, kwargs))

    f = x.view(F)
    alone, beside = np.asarray(np.concatenate([f, f])), np.asarray(np.concatenate([f, x]))
    return float(
        alone[0]
        + 3 * beside[0]
        + np.dot(f, np.ones(len(x)))
        + np.dot(f, f)
        + np.asarray(np.take(f, np.array([0]))).sum()
    )


@program(V)
def pulled(x):
    class Q(np.ndarray):
        __array_priority__ = 20

        def __array_wrap__(self, arr, context=None, return_scalar=False):
            return np.asarray(arr).view(Q) if arr.ndim else float(arr)

        def norm(self):
            return np.sqrt((self * self).sum())

    q = x.view(Q)
    return float(q.norm() + (q * 2 - q).norm() + np.add(q, 1).norm())


class Overriding(np.ndarray):
    """Has methods of its own that call those of arrays."""

    def view(self, *args):
        return super().view(*args)

    @property
    def data(self):
        return self.view(np.ndarray)

    def __array_function__(self, func, types, args, kwargs):
        return super().__array_function__(func, types, args, kwargs)

    def __truediv__(self, other):
        return other.divide(self) if isinstance(other, Unit) else super().__truediv__(other)


class Unit:
    __array_priority__ = 1000.0

    def divide(self, a):
        return a * 0.5

    def __rtruediv__(self, a):
        return a / 0.25


@program(V)
def overriding(x):
    y = (x * 2).view(Overriding)
    y.setflags(write=True)
    z = y.copy()
    z.sort()
    z[:2].partition(1)
    return float(np.median(y) + (y.data**2).sum() + (y / Unit()).sum() + (y / 3.0)[0] + z[0] * 3)


@program(V)
def compared_to_what_is_no_number(x):
    t, r = Tagged([1.0, 2.0]), np.rec.array([(1, 2.0), (2, 3.0)], dtype=[("a", int), ("b", float)])
    odd = (t == "a").any(), (t != "a").all(), (t == None).any(), (r == r).all(), (r[:1] != r[1:]).all()
    assert odd == (False, True, False, True, True)
    try:
        t + "a"
    except TypeError as error:
        return np.sum(x * x)


@program(A)
def matrix_absolute(a):
    m = abs(np.matrix(a))
    return m[0, 1] ** 2 + m[1, 2]


@program(A)
def matrix_put_flat(a):
    m = np.matrix(a * 2)
    m.put([0, 4], [a[0, 1], 3 * a[1, 1]])
    m.flat[1] = a[1, 2]
    m.flat[2:4] = a[0, :2]
    return (m @ m.T)[0, 1] + m.flat[4] * m.flat[1] + m.flat[::2].sum()


@program(A)
def matrix_trace(a):
    m = np.matrix(a[:, :2])
    return m.trace()[0, 0] ** 2 + np.trace(m * 2) * m[0, 0]
