"""Programs in which a value passes through raw memory, for `test_opaque`."""

# ruff: noqa (each is a line or two as a user would write it)

from __future__ import annotations

import array
import base64
import ctypes
import io
import struct

import numpy as np
from opaque_table import Cases

cases = Cases()
number, vector = cases.number, cases.vector

# -- bytes and raw memory


@number
def packed_into_a_buffer(x):
    buffer = bytearray(8)
    struct.pack_into("d", buffer, 0, x)
    return struct.unpack_from("d", buffer)[0]


@number
def structure_packer(x):
    packer = struct.Struct("d")
    return packer.unpack(packer.pack(x))[0]


@vector
def bytes_of_an_array(x):
    return np.frombuffer(bytes(x)).sum()


@vector
def bytearray_of_an_array(x):
    return np.frombuffer(bytearray(x)).sum()


@vector
def array_over_a_memoryview(x):
    return np.asarray(memoryview(x)).sum()


@vector
def array_over_a_buffer(x):
    return np.ndarray((3,), buffer=x).sum()


@vector
def cast_memoryview(x):
    return memoryview(x).cast("B").cast("d")[1]


@vector
def written_through_a_memoryview(x):
    y = x * 2
    memoryview(y)[0] = 5.0
    return y.sum()


@vector
def buffer_read_from(x):
    return np.frombuffer(x).sum()


@vector
def in_base64(x):
    return np.frombuffer(base64.b64decode(base64.b64encode(x.tobytes()))).sum()


@vector
def ctypes_array(x):
    return sum((ctypes.c_double * 3)(*x))


@vector
def ctypes_pointer(x):
    return x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))[1]


@vector
def ctypes_array_of_numpy(x):
    return np.ctypeslib.as_array(np.ctypeslib.as_ctypes(x)).sum()


@vector
def moved_memory(x):
    y = np.zeros(3)
    ctypes.memmove(y.ctypes.data, x.ctypes.data, 24)
    return y.sum()


@vector
def array_of_arrays_module(x):
    return sum(array.array("d", x))


@number
def array_appended(x):
    a = array.array("d")
    a.append(x)
    a.extend([x * 2])
    return a[0] * a[1]


@vector
def saved_and_loaded(x):
    out = io.BytesIO()
    np.save(out, x)
    out.seek(0)
    return np.load(out).sum()


@vector
def text_saved_and_loaded(x):
    out = io.StringIO()
    np.savetxt(out, x)
    out.seek(0)
    return np.loadtxt(out).sum()


@vector
def structured_array(x):
    a = np.zeros(3, [("u", float), ("v", int)])
    a["u"] = x
    return a["u"].sum()


@vector
def record_array(x):
    return np.rec.fromarrays([x, x * 2], names="a,b").b.sum()


@vector
def masked_array(x):
    return np.ma.masked_greater(x, 1.0).sum()


@vector
def matrix(x):
    return (np.matrix(x) * np.matrix(x).T)[0, 0]


@vector
def polynomial(x):
    return np.poly1d(x)(2.0) + np.polynomial.Polynomial(x)(0.5)


@vector
def strided_view(x):
    return np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)).sum()


@vector
def bits(x):
    return (x.view(np.int64) & ~1).view(float).sum()


@vector
def n_d_iterator_writing(x):
    y = np.zeros(3)
    with np.nditer([x, y], op_flags=[["readonly"], ["writeonly"]]) as it:
        for a, b in it:
            b[...] = a * 2
    return y.sum()


@vector
def applied_along_an_axis(x):
    return np.apply_along_axis(lambda v: v * v, 0, x).sum()


@vector
def from_a_function(x):
    return np.fromfunction(lambda i: x[i] * 2, (3,), dtype=int).sum()


@vector
def piecewise(x):
    return np.piecewise(x, [x < 1, x >= 1], [lambda v: v * v, 3.0]).sum()


@vector
def evaluated_by_einsum_path(x):
    return np.einsum("i,i,i->", x, x, x, optimize=True)
