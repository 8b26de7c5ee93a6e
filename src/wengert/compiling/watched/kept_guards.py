"""Guards of one trace for the code of another: the same expressions, with the names that pinned objects have there."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wengert.compiling.watched.guards import Guards, OuterInput

T = TypeVar("T", bound=Guards)
_KINDS = "class_guards", "guards", "final_guards"


class KeptGuards(NamedTuple):
    """The kept guards of a trace: those by kind, those at the end, the objects in them, and the inputs."""

    kinds: dict[str, dict[str, None]]
    at_end: list[str]
    pins: dict[str, tuple[Any, str]]
    inputs: dict[str, OuterInput]


def kept_guards(reads: Guards) -> KeptGuards:
    """Return the kept guards of a trace; of an input array only the form is kept."""
    at_end = reads.guards_at_end()
    pins = {f"k{k}": (pin, reads.labels[f"k{k}"]) for k, pin in enumerate(reads.pins)}
    inputs = {accessor: OuterInput(None, _form_of(outer.original)) for accessor, outer in reads.inputs.items()}
    return KeptGuards({kind: getattr(reads, kind) for kind in _KINDS}, at_end, pins, inputs)


def _form_of(value: Any) -> Any:
    return np.broadcast_to(np.zeros((), value.dtype), value.shape) if type(value) is np.ndarray else value


def copied(reads: T) -> T:
    """Return a copy of the guards of a trace, to which others can be added."""
    made = copy.copy(reads)
    for name in ("pins", "labels", "inputs", "_pin_names", "absorbed", *_KINDS):
        setattr(made, name, copy.copy(getattr(reads, name)))
    return made


def absorb(reads: Guards, kept: KeptGuards) -> list[str]:
    """Add the guards and inputs of another trace of the function; return the accessors of its inputs here."""
    names = {name: reads.pin(pin, label) for name, (pin, label) in kept.pins.items()}
    known = {renamed(accessor, {}): accessor for accessor in reads.inputs}
    accessors = []
    for accessor, outer in kept.inputs.items():
        accessors.append(known.get(renamed(accessor, names), renamed(accessor, names)))
        reads.inputs.setdefault(accessors[-1], outer)
    places = {accessor: f"i{k}" for k, accessor in enumerate(reads.inputs)}
    names |= {f"i{k}": places[accessor] for k, accessor in enumerate(accessors)}
    for kind, guards in kept.kinds.items():
        getattr(reads, kind).update(_new_guards(getattr(reads, kind), guards, names))
    reads.absorbed.update(_new_guards(reads.guards_at_end(), kept.at_end, names))
    return accessors


def _new_guards(known: Iterable[str], guards: Iterable[str], names: Mapping[str, str]) -> dict[str, None]:
    """Return the guards with other names that are not among the known ones."""
    forms = {renamed(text, {}) for text in known}
    return dict.fromkeys([text for old in guards if (text := renamed(old, names)) not in forms])


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return an expression with other names, in the form that Python writes."""
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return ast.unparse(tree)
