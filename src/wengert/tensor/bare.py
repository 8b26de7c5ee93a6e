"""The fast path of calls with float arrays, numbers and sizes only: a known form of call runs its program at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tensor.instances import Instance, copy_if_shared, flat_arrays, nest_arrays
from wengert.tensor.language.relations import Relation
from wengert.tensor.running.backends import Backend

FLOAT64 = np.dtype(np.float64)
SIZES_KEPT = 64  # sizes of a function for which its programs are cached
FLOAT_DTYPES = (np.float32, np.float64)
CallForm = tuple[tuple[Any, Any] | None, ...]


def call_form(args: tuple[Any, ...]) -> CallForm:
    """Return for each argument of a call its dtype and shape, or its size; None for anything else."""
    return tuple([(x.dtype, x.shape) if type(x) is np.ndarray else _form_of_number(x) for x in args])


def _form_of_number(x: Any) -> tuple[Any, Any] | None:
    t = type(x)
    if t is float or t is np.float64:
        return FLOAT64, ()
    return (t, x) if t is int or t is bool else None


class DirectCall:
    """The program of an instance for calls of one form, valid as long as `is_valid()` is true."""

    def __init__(self, instance: Instance, array_dtypes: dict[int, Any], backend: Backend) -> None:
        self.is_valid, self.kind = instance.is_valid, instance.result
        self.run = instance.runner(backend, {}).without_relations()
        self.constants = {f"in.{name}": x for name, x in instance.constants.items()}
        self.slot_positions = [(f"in.{name}", k) for k, name in zip(array_dtypes, instance.slots, strict=True)]
        self.dtype = np.result_type(*array_dtypes.values(), *self.constants.values())
        names = instance.outputs
        self.is_flat = nest_arrays(self.kind, iter(names)) == instance.ssa.output == names
        self.last_call: tuple[Instance, dict[str, Relation]] = instance, {}

    def __call__(self, args: tuple[Any, ...]) -> Any:
        arrays = self.constants.copy()
        for name, k in self.slot_positions:
            arrays[name] = np.asarray(args[k])
        found, inputs = self.run(arrays), arrays.values()
        if type(found) is not tuple:
            return copy_if_shared(found, inputs, self.dtype)
        results = [copy_if_shared(x, inputs, self.dtype) for x in (found if self.is_flat else flat_arrays(found))]
        return tuple(results) if self.is_flat else nest_arrays(self.kind, iter(results))


class FunctionCache:
    """The cache of a tensor function. A copy starts empty, since programs guard the objects they were read from."""

    def __init__(self) -> None:
        self.last_call: tuple[Instance, dict[str, Relation]] | None = None
        self.instances: dict[Any, Instance] = {}
        self.direct_calls: dict[CallForm, DirectCall] = {}

    def __reduce__(self) -> Any:
        return FunctionCache, ()

    def add(self, instance: Instance, form: CallForm, backend: Any) -> None:
        """Let calls of a form run this program, unless it takes relations, or arguments to convert at each call."""
        known = [(k, part[0]) for k, part in enumerate(form) if part is not None]
        array_dtypes = {k: of for k, of in known if of is not int and of is not bool}
        dtypes = [*array_dtypes.values(), *[getattr(x, "dtype", None) for x in instance.constants.values()]]
        if backend == "reference" or instance.gathers or instance.tables or len(known) != len(form) or not dtypes:
            return
        if all(dtype in FLOAT_DTYPES for dtype in dtypes) and len(array_dtypes) == len(instance.slots):
            if len(self.direct_calls) >= SIZES_KEPT:
                self.direct_calls.clear()
            self.direct_calls[form] = DirectCall(instance, array_dtypes, backend)
