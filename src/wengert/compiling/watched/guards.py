"""Guards of a trace: floats and arrays read from outside become its inputs, all else is tested.

Each thing is reached from a pinned object by an accessor, a Python expression such as `k0['lr']` or `a1['w'][2]`: the
dictionary of a module, a cell, a function, or an argument. A test is an expression, too, true of what was read. What
the trace goes on with in place of a number or an array is an object made for this accessor: `a = b = 0.1` is one float
under two names. Lists, tuples and dictionaries are taken in whole, objects attribute by attribute as they are read;
what has parts of another kind cannot be watched, and the trace is not kept.
"""

from __future__ import annotations

import enum
import functools
import re
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.watched.identities import Identities, is_nan
from wengert.compiling.watched.sameness import is_remade, is_stated, literal, same
from wengert.compiling.watched.stdlib_types import is_named_tuple, read_member, read_named_tuple, read_partial
from wengert.compiling.watched.swapped_in import SwappedContainers
from wengert.compiling.watched.trusted import is_library, is_unwatched
from wengert.compiling.watched.watchable_types import (
    ATOMS,
    COMPARED,
    SAME,
    has_attributes_alone,
    hides_a_function,
    is_bound_to_none,
    is_tensor_function,
)
from wengert.errors import RefusedCallError
from wengert.hooks.code_swap import prepare
from wengert.recording.primitives import INPUT
from wengert.recording.recording import STATE, Recording, here
from wengert.recording.shadow import SHADOW
from wengert.recording.subclasses import renewed
from wengert.values.callables import unwrapped
from wengert.values.codes import original
from wengert.values.frames import ENGINE, is_ours
from wengert.values.specs import is_inexact
from wengert.values.transformed import Transformed

MOST = 1000
"""Tests of one trace, and inputs; with more it is not kept."""
DEEPEST = 400
"""Characters of an accessor: what lies deeper is not followed."""
GENERATORS = (np.random.Generator, np.random.RandomState)
"""Objects that draw: their state changes with each draw, which `drawing.py` looks after."""


class OuterInput(NamedTuple):
    """A number or an array that the trace read at an accessor: what stands for it in the trace, and itself."""

    made: Any
    own: Any


class Wrapper:
    """A callable object of this package, and the function that it calls."""

    wrapped: Any


def said(text: str, labels: Mapping[str, str]) -> str:
    """An accessor or a test, with the labels of what is pinned in the place of its names."""
    return re.sub(r"\b[kd]\d+\b", lambda k: labels.get(k[0], k[0]), text)


def _named(thing: Any) -> str:
    """The name that a class, a function, a module or a data type gives itself."""
    if issubclass(type(thing), (type, types.FunctionType, type(np.sum))):
        return getattr(thing, "__qualname__", "")
    if issubclass(type(thing), np.dtype):
        return str(thing)
    return thing.__name__ if type(thing) is types.ModuleType else ""


def library_that_calls(frame: types.FrameType | None) -> str | None:
    """Code of a library that runs as it is, for nothing traced reaches it, and has called what now reads an input."""
    while frame is not None and not (frame.f_code.co_name == "traced" and is_ours(frame)):
        if not is_ours(frame) and original(frame.f_code) is None and is_library(frame.f_globals):
            return frame.f_code.co_qualname
        frame = frame.f_back
    return None


class GuardBuilder:
    """Builds the guards of one trace: the inputs and tests of what is read from outside, or why it cannot be reused."""

    def __init__(self, recording: Recording, hooks: Mapping[str, Callable[..., Any]]) -> None:
        self.recording, self.hooks = recording, hooks
        self.unkept: str | None = None
        self.may_be_once = False
        self.pins: list[Any] = []
        self.labels: dict[str, str] = {}
        self.tests: dict[str, None] = {}
        self.class_tests: dict[str, None] = {}  # these come first: where they hold, reading an attribute runs no code
        self.final_tests: dict[str, None] = {}  # of the tests, those that never hold again once they failed
        self.inputs: dict[str, OuterInput] = {}
        self.known: dict[int, tuple[Any, str]] = {}  # objects by id, and where each was met first
        self.cells: dict[int, tuple[Any, str]] = {}
        self.originals: dict[int, tuple[Any, Any]] = {}  # by id, what was made for the trace, and for what
        self.called: dict[int, Any] = {}  # what was called, and may be
        self.classes: dict[int, Any] = {}  # those that were read, by their names or of an object
        self.draws: dict[str, str] = {}  # random draws by their names in the code: the expressions that make them
        self.generators: dict[str, Any] = {}  # those drawn from, by their places
        self.seeded: dict[int, Any] = {}  # those made inside, which draw the same in each call
        self.names: dict[tuple[int, str], tuple[Any, Any]] = {}  # of pinned ones: what was read, and made of it
        self.identities = Identities(self)
        self._places: dict[int, str] = {}
        self._spaces: dict[int, Any] = {}  # the views of the names of classes
        self._token = ""  # the test that nothing was registered since an abstract class was first asked
        self._answers: dict[str, None] = {}  # of abstract classes
        self._within: set[int] = set()  # containers whose parts are being taken in
        self._lent = SwappedContainers()
        self._contents: list[tuple[str, np.ndarray, np.ndarray, int]] = []

    # -- what tests are made of

    def give_up(self, words: str, may_be_once: bool = False) -> None:
        """The trace will not be used again, because of `words`; it goes on. `may_be_once`: the next may do without."""
        if self.unkept is None:
            self.unkept, self.may_be_once = f"{here()}: {words}", may_be_once

    def pin(self, thing: Any, label: str = "") -> str:
        """The name of an object that tests are about."""
        name = self._places.get(id(thing))
        if name is None:
            name = self._places[id(thing)] = f"k{len(self.pins)}"
            self.pins.append(thing)
            self.labels[name] = label or _named(thing) or f"a {type(thing).__name__}"
        return name

    def test(self, text: str) -> None:
        self.tests[text] = None
        if len(self.tests) > MOST:
            self.give_up(f"it reads more than {MOST} things from outside")

    def test_for_good(self, text: str) -> None:
        """Add a test that never holds again once it failed."""
        self.final_tests[text] = None
        self.test(text)

    def said(self, text: str) -> str:
        """An accessor or a test in the words of the program."""
        return said(text, self.labels)

    # -- reading

    def read(self, value: Any, place: str) -> Any:
        """Return the value that the trace goes on with for one read from outside at `place`."""
        if len(place) > DEEPEST or len(self.inputs) > MOST:
            self.give_up(f"it reads too much from outside ({self.said(place)[:DEEPEST]} …)")
        if id(value) in self.identities.shared:
            _, made, first = self.identities.shared[id(value)]
            if place != first:
                self.test(f"{place} is {first}")
            return made
        if self.unkept is not None or id(value) in SHADOW:
            return value
        if id(value) in self.known:
            self.test(f"{place} is {self.known[id(value)][1]}")
            return value
        t = type(value)
        if t is not set and is_remade(value):
            self.identities.equal[id(value)] = value
        if t is float or is_inexact(value):
            return self._number(value, place)
        if t in ATOMS:
            self._atom(value, place)
        elif t is np.ndarray and not value.dtype.hasobject:
            self._content(value, place)
        elif issubclass(t, COMPARED) and is_stated(value):
            self.test(f"{self.pin(same)}({place}, {self.pin(value)})")
        elif t in (list, tuple, dict):
            return self._container(value, place)
        elif is_named_tuple(t):
            return read_named_tuple(self, value, place)
        elif t is functools.partial:
            return read_partial(self, value, place)
        elif t in (set, frozenset) and is_stated(value):
            self.test(f"type({place}) is {t.__name__} and {self.pin(same)}((*{place},), {self.pin((*value,))})")
            self.identities.equal.update({id(item): item for item in value if is_remade(item)})
            if t is set:
                self.identities.shared[id(value)] = value, value, place
                self._lent.put(value, t(value))
        else:
            self._object(value, place, t)
        return value

    def _number(self, value: Any, place: str) -> Any:
        if type(value) is not float and type(value).__module__ not in ("numpy", "builtins"):
            self.give_up(f"it reads an array of {type(value).__name__} from outside ({self.said(place)})")
            return value
        if type(value) not in (float, complex, np.ndarray) and not issubclass(type(value), np.generic):
            self.give_up(f"it reads a {type(value).__name__} from outside ({self.said(place)})")
            return value
        if STATE.recording is not self.recording:
            words = f"a function under vmap reads {self.said(place)}: give it as an argument, with in_axes None for it"
            self.give_up(words)
            return value
        caller = library_that_calls(sys._getframe())
        if caller is not None:
            self.give_up(f"{caller} runs as it is, and calls what reads from outside")
        found = self.inputs.get(place)
        if found is None or found.own is not value:
            if found is not None:
                self.give_up(f"{self.said(place)} changes while it runs")
                return value
            self.inputs[place] = found = OuterInput(self._input(value), value)
            if type(value) is np.ndarray or is_nan(value):
                self.identities.shared[id(value)] = value, found.made, place
            self.originals[id(found.made)] = found.made, value
        return found.made

    def _input(self, value: Any) -> Any:
        """A fresh object, which is an input of the tape wherever the recording stands."""
        recording = self.recording
        made, slot = renewed(value), len(recording.entries)
        if issubclass(type(made), np.ndarray):
            recording.memory.arguments.append((made, slot))
            recording.memory.capture(made)
        recording.entries.append((INPUT, made, (), (), None, None))
        recording.levels[0].inputs.add(slot)
        SHADOW[id(made)] = slot
        return made

    def input_name(self, made: Any) -> str | None:
        """The name in the code of an input that the trace goes on with."""
        for k, (name, outer) in enumerate(self.inputs.items()):
            if outer.made is made:
                return name if name in self.draws else f"i{k}"
        return None

    def _atom(self, value: Any, place: str) -> None:
        if value is None or type(value) in (bool, type(...), type(NotImplemented)):
            self.test(f"{place} is {value}")
        else:
            self.test(f"type({place}) is {type(value).__name__} and {place} == {self.constant(value)}")

    def constant(self, value: Any) -> str:
        """The expression of a value that the code always means."""
        return literal(value) or self.pin(value)

    def _content(self, value: np.ndarray, place: str) -> None:
        """An array of whole numbers, bools or texts, which decide: it has to be as it was."""
        kept = value.copy()
        self._contents.append((place, value, kept, value.flags.num))
        self.identities.shared[id(value)] = value, value, place
        like = f"type({place}) is {self.pin(np.ndarray)} and {self.of_dtype(place, value.dtype)}"
        lies = f"{place}.strides == {value.strides} and {place}.flags.num == {value.flags.num}"
        self.test(f"{like} and {place}.shape == {value.shape} and {lies}")
        self.test(f"{place}.tobytes() == {self.pin(value.tobytes())}")  # in records -0.0 is not 0.0, and nan is nan

    def of_dtype(self, place: str, dtype: np.dtype) -> str:
        """The test that an array has this data type, also as far as `==` does not tell."""
        return f"({place}.dtype is {self.pin(dtype)} or {self.pin(same)}({place}.dtype, {self.pin(dtype)}))"

    def _container(self, value: Any, place: str) -> Any:
        t = type(value)
        self.test(f"type({place}) is {t.__name__}")
        if t is dict:
            items = self._keys(value, place)
            if items is None:
                self.give_up(f"it reads a dictionary by keys that cannot be compared ({self.said(place)})")
                return value
        else:
            self.test(f"len({place}) == {len(value)}")
            items = {key: repr(key) for key in range(len(value))}
        if t is not tuple:
            self.known[id(value)] = value, place
        elif id(value) in self._within:
            words = f"{here()}: it reads a tuple from outside that is within itself ({self.said(place)})"
            raise self.recording.refuse(RefusedCallError(words))
        self._within.add(id(value))
        parts = {key: self.read(value[key], f"{place}[{said}]") for key, said in items.items()}
        self._within.discard(id(value))
        changed = any(part is not value[key] for key, part in parts.items())
        if t is tuple:
            made = tuple(parts.values()) if changed else value
            self.originals[id(made)] = made, value
            return made
        self._lent.put(value, t(parts) if t is dict else [*parts.values()])
        return value

    def _keys(self, value: dict[Any, Any], place: str) -> dict[Any, str] | None:
        """The expressions of a dictionary's keys, with a test that it has these; None where they have none."""
        types = [type(key) for key in value]
        self.identities.equal.update({id(key): key for key in value if is_remade(key)})
        if {*types} <= {str, int}:
            keys = self.pin([*value], f"[{', '.join([literal(key) or 'an integer' for key in value])}]")
            self.test(f"[*map(type, {place})] == {self.pin(types, 'their types')} and [*{place}] == {keys}")
        elif all(issubclass(t, enum.Enum) for t in types):
            names = {key: self.pin(key) for key in value}
            self.test(f"[*map(id, {place})] == {[*map(id, names)]}")
            return names
        elif all(map(is_stated, value)):
            self.test(f"type({place}) is dict and {self.pin(same)}((*{place},), {self.pin((*value,))})")
        else:
            return None
        return {key: self.constant(key) for key in value}

    def _object(self, value: Any, place: str, t: Any) -> None:
        if hides_a_function(value):
            self.give_up(f"it reads {self.said(place)} from outside, which runs a function that is not seen")
        elif issubclass(t, enum.Enum):
            read_member(self, value, place)
        elif issubclass(t, type):
            self.classes[id(value)] = value
            prepare(value)
            self.test(f"{place} is {self.pin(value)}")
        elif t is types.FunctionType or t is Transformed:
            self.test(f"{place} is {self.pin(value)}")
            self.inside(unwrapped(value))
        elif t is types.ModuleType:
            self.test(f"{place} is {self.pin(value, value.__name__)}")
            if not is_library(vars(value)):
                self.test(f"type({place}) is {self.pin(t)}")
        elif issubclass(t, SAME) and is_bound_to_none(value):
            self.test(f"{place} is {self.pin(value)}")
        elif t is types.MethodType:
            self.test(f"type({place}) is {self.pin(t)} and {place}.__func__ is {self.pin(value.__func__)}")
            self.read(value.__self__, f"{place}.__self__")
        elif is_tensor_function(t):
            self.test(f"{place} is {self.pin(value)}")
        elif issubclass(t, Wrapper):
            self.test(f"{place} is {self.pin(value)}")
            self.inside(value.wrapped)
        elif t in GENERATORS or (has_attributes_alone(t) and not any(map(is_unwatched, t.__mro__))):
            self._instance(value, place, t)
        else:
            self.give_up(f"it reads a {t.__name__} from outside ({self.said(place)}), which cannot be watched")

    def _instance(self, value: Any, place: str, t: Any) -> None:
        self.classes[id(t)] = t
        prepare(t)  # its methods may be called by C alone
        if place.startswith("a"):
            self.test(f"type({place}) is {self.pin(t)}")
        else:
            self.test(f"{place} is {self.pin(value)}")
            self.test(f"type({self.pin(value)}) is {self.pin(t)}")
            place = self.pin(value)
        for other, where in self.known.values():
            if type(other) is t and (place.startswith("a") or where.startswith("a")):
                self.test(f"{place} is not {where}")
        self.known[id(value)] = value, place
        if t is types.SimpleNamespace:  # C code compares and prints it
            self.read(vars(value), f"{place}.__dict__")

    def inside(self, f: Any) -> None:
        """Watch what a function of this package holds that calls the user's code: objects of methods, and callables."""
        todo, seen = [f], set()
        while todo:
            g = todo.pop()
            if id(g) in seen:
                continue
            seen.add(id(g))
            if type(g) is types.FunctionType and g.__code__.co_filename.startswith(ENGINE):
                todo += [cell.cell_contents for cell in g.__closure__ or ()]
            elif type(g) is Transformed:
                todo.append(g.__func__)
            elif type(g) is types.MethodType:
                self.read(g.__self__, f"{self.pin(g)}.__self__")
            elif issubclass(type(g), (list, tuple)):
                todo += g
            elif issubclass(type(g), dict):
                todo += g.values()
            elif type(g) is not types.FunctionType and not issubclass(type(g), (type, *SAME, *ATOMS, float)):
                self._object(g, self.pin(g), type(g))
