"""Rotations and rigid transforms: in C, and in Python for other libraries of arrays, which is followed."""

from __future__ import annotations

import importlib
import types

import numpy as np

from wengert.extend import non_differentiable, stands_for


def modules(name):
    """Import SciPy's C and Python backend modules of this name; SciPy has both from 1.17 on."""
    try:
        return [importlib.import_module(f"scipy.spatial.transform.{name}_{backend}") for backend in ("cy", "xp")]
    except ImportError:
        return []


def orthogonal(matrix):
    """The orthogonal matrix U Vᵀ nearest to `matrix` U S Vᵀ, by Newton's method.

    One step is taken where it is orthogonal already, lest a derivative across the rotations counts; SciPy takes none.
    """
    while True:
        other = np.swapaxes(np.linalg.inv(matrix), -1, -2)
        was_far = np.any(np.abs(matrix - other) > 1e-9)
        matrix = (matrix + other) / 2
        if not was_far:
            return matrix


def followed(native, text, *without):
    """Have each function of the module `text` stand for that of the same name in `native`, but those in `without`."""
    for name, f in vars(text).items():
        of_c = getattr(native, name, None)
        if isinstance(f, types.FunctionType) and f.__module__ == text.__name__ and of_c and name not in without:
            stands_for(of_c)(f)


if modules("_rigid_transform"):
    followed(*modules("_rigid_transform"))

if modules("_rotation"):
    in_c, in_python = modules("_rotation")
    followed(in_c, in_python, "from_matrix", "reduce")

    @non_differentiable
    def refuse_reflections(matrix):
        """Raise SciPy's error where a determinant is not positive."""
        in_c.from_matrix(matrix)

    @stands_for(in_c.from_matrix, in_python.from_matrix)
    def from_matrix(matrix, assume_valid=False):
        if not assume_valid:
            refuse_reflections(matrix)
            matrix = orthogonal(matrix)
        return in_python._from_matrix_orthogonal(matrix)

    @non_differentiable
    def nearest(quat, left, right):
        return in_c.reduce(quat, left, right)[1:]

    @stands_for(in_c.reduce)
    def reduce(quat, left=None, right=None):
        """That of SciPy in Python takes no part that is missing for a rotation by nothing."""
        i, j = nearest(quat, left, right)
        quat = quat if left is None else in_python.compose_quat(left[i], quat)
        return quat if right is None else in_python.compose_quat(quat, right[j]), i, j
