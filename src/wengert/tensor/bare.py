"""Calls with arrays of floats, numbers and sizes alone: one of a form that is known runs its program at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.tensor.instances import Instance, arrays_in, structured, unshared
from wengert.tensor.language.relations import Relation
from wengert.tensor.running.backends import Backend

DOUBLE = np.dtype(np.float64)
SIZES_KEPT = 64  # sizes of a function for which its program is remembered
FLOATS = (np.float32, np.float64)
Form = tuple[tuple[Any, Any] | None, ...]


def form_of(args: tuple[Any, ...]) -> Form:
    """Return the form of the arguments of a call: dtypes and shapes, and sizes; None for anything else."""
    return tuple([(x.dtype, x.shape) if type(x) is np.ndarray else _form_of_number(x) for x in args])


def _form_of_number(x: Any) -> tuple[Any, Any] | None:
    t = type(x)
    if t is float or t is np.float64:
        return DOUBLE, ()
    return (t, x) if t is int or t is bool else None


class Bare:
    """The program of an instance for calls of one form, as long as `holds()` is true; `latest` is such a call."""

    def __init__(self, instance: Instance, places: dict[int, Any], backend: Backend) -> None:
        self.holds, self.kind = instance.holds, instance.result
        self.run = instance.runner(backend, {}).without_relations()
        self.constants = {f"in.{name}": x for name, x in instance.constants.items()}
        self.places = [(f"in.{name}", k) for k, name in zip(places, instance.slots, strict=True)]
        self.dtype = np.result_type(*places.values(), *self.constants.values())
        names = instance.outputs
        self.is_flat = structured(self.kind, iter(names)) == instance.ssa.output == names
        self.latest: tuple[Instance, dict[str, Relation]] = instance, {}

    def __call__(self, args: tuple[Any, ...]) -> Any:
        arrays = self.constants.copy()
        for name, k in self.places:
            arrays[name] = np.asarray(args[k])
        found, inputs = self.run(arrays), arrays.values()
        if type(found) is not tuple:
            return unshared(found, inputs, self.dtype)
        results = [unshared(x, inputs, self.dtype) for x in (found if self.is_flat else arrays_in(found))]
        return tuple(results) if self.is_flat else structured(self.kind, iter(results))


class Kept:
    """The cache of a tensor function. A copy has none of it: programs look at what they were read from."""

    def __init__(self) -> None:
        self.latest: tuple[Instance, dict[str, Relation]] | None = None
        self.instances: dict[Any, Instance] = {}
        self.bare: dict[Form, Bare] = {}

    def __reduce__(self) -> Any:
        return Kept, ()

    def keep(self, instance: Instance, form: Form, backend: Any) -> None:
        """Have calls of a form run this program, unless it takes relations, or what is to be converted at each call."""
        sized = [(k, part[0]) for k, part in enumerate(form) if part is not None]
        places = {k: of for k, of in sized if of is not int and of is not bool}
        dtypes = [*places.values(), *[getattr(x, "dtype", None) for x in instance.constants.values()]]
        if backend == "reference" or instance.gathers or instance.tables or len(sized) != len(form) or not dtypes:
            return
        if all(dtype in FLOATS for dtype in dtypes) and len(places) == len(instance.slots):
            if len(self.bare) >= SIZES_KEPT:
                self.bare.clear()
            self.bare[form] = Bare(instance, places, backend)
