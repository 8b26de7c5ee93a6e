"""An entry of the cache: the tests of one trace, and the code of its tape, as one generated function."""

from __future__ import annotations

import itertools
import linecache
import re
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.loops.lowering import find_reverse, lowered
from wengert.compiling.optimising import optimised
from wengert.compiling.watched.drawing import saved_state
from wengert.compiling.watched.guards import OuterInput, with_labels
from wengert.compiling.watched.loop_states import loops_ended_by_guards
from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.sameness import has_readable_state, readable_state
from wengert.compiling.watched.tracing import WatchedTrace
from wengert.errors import StaleTapeError
from wengert.recording.decisions import what_raises


class Miss:
    """The answer of an entry whose guards do not hold for the call, in place of a result."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return self.words


MISS = Miss("a test fails")
FAILED = Miss("the code raises")
_entry_numbers = itertools.count(1)


class CompiledTrace:
    """A trace that can be used again: `call` gives the result of a call that passes its guards, else a Miss.

    `tests` are the expressions that have to be true, in order; the names in them are those of `names`. Entries whose
    `alike` is equal run the same code, and differ in the objects that their tests are about.
    """

    def __init__(
        self, traced: WatchedTrace, parameters: list[str], exact: bool, native: bool | None, cut: bool = True
    ) -> None:
        reads = traced.reads
        assert traced.tape is not None
        has_walked = bool(reads.recording.notes) or bool(find_reverse(traced.tape))
        self.derives = has_walked and not reads.draws  # what was drawn is drawn
        heads, self.recorded = loops_ended_by_guards(traced.tape), len(traced.tape)
        self.tape = optimised(lowered(traced.tape, cut and not reads.draws, exact), exact)
        self.loops = {site: head.description for site, head in heads.items()}
        self.parameters, self.inputs, self.labels = parameters, [*reads.inputs], reads.labels
        self.run: Any = self.tape.compile("run", native=native)
        read = [(k, name, outer) for k, (name, outer) in enumerate(reads.inputs.items()) if name not in reads.draws]
        self.tests = [
            *reads.class_guards,
            *reads.guards,
            *[_kind_test(f"i{k}", name, outer, reads) for k, name, outer in read],
        ]
        self.final = [*reads.final_guards]
        self.tests += reads.identities.all_guards()
        self.tests += _no_alias_test(
            [name for name, outer in reads.inputs.items() if type(outer.original) is np.ndarray]
        )
        self.draws, self.generators = reads.draws, reads.generators
        self.names: dict[str, Any] = {f"k{k}": pin for k, pin in enumerate(reads.pins)}
        run = _quiet(self.run) if reads.recording.checks_fp_errors else self.run
        self.names.update(run=run, MISS=MISS, FAILED=FAILED, StaleTapeError=StaleTapeError, ndarray=np.ndarray)
        self.text = self._text(traced.returned)
        self.alike = self._alike(reads.pins)
        self.call = self._made()

    def _text(self, returned: str) -> str:
        tests = "\n                and ".join(f"({test})" for test in self.tests) or "True"
        given = ", ".join(name if name in self.draws else f"i{k}" for k, name in enumerate(self.inputs))
        states = [saved_state(place, rng) for place, rng in self.generators.items()]
        keep = "".join(f"        s{k} = {state}\n" for k, (state, _) in enumerate(states))
        back = "".join(f"        state = s{k}\n        {set_it}\n" for k, (_, set_it) in enumerate(states))
        draw = "".join(f"        {name} = {how}\n" for name, how in self.draws.items())
        return (
            f"def entry({', '.join(self.parameters)}):\n"
            "    try:\n"
            f"        if not ({tests}):\n"
            "            return MISS\n"
            "    except (KeyError, IndexError, AttributeError, TypeError, ValueError):\n"
            "        return MISS\n"
            "    try:\n"
            f"{keep}{draw}        r = run({given})\n"
            "    except StaleTapeError:\n"
            f"{back}        return MISS\n"
            "    except Exception:\n"
            f"{back}        return FAILED\n"
            f"    return {returned}\n"
        )

    def _made(self) -> Callable[..., Any]:
        file = f"<wengert entry {next(_entry_numbers)}>"
        exec(compile(self.text, file, "exec"), self.names)
        made: Callable[..., Any] = self.names.pop("entry")  # which else would hold itself, and with it its buffers
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        weakref.finalize(made, linecache.cache.pop, file, None)
        return made

    def _alike(self, pins: list[Any]) -> Any:
        return self.text, self.run.source, [_compared(pin) for pin in pins]

    def describe(self, text: str) -> str:
        """Return an accessor or a guard with the labels of the objects in it."""
        return with_labels(text, self.labels)

    def failing(self, args: tuple[Any, ...]) -> str | None:
        """The first test that these arguments, and what is outside, do not pass; None where they pass all."""
        names = {**self.names, **dict(zip(self.parameters, args, strict=True))}
        for test in self.tests:
            try:
                if eval(test, names):
                    continue
            except (KeyError, IndexError, AttributeError, TypeError, ValueError):
                pass
            return self.describe(test)
        return None

    @property
    def is_over(self) -> bool:
        """Whether a test fails that will never hold again."""
        try:
            return not all([eval(test, dict(self.names)) for test in self.final])
        except (KeyError, IndexError, AttributeError, TypeError, ValueError):
            return True

    def stale(self, args: tuple[Any, ...]) -> str:
        """The test in the code that does not hold of arguments which pass all others."""
        if self.draws:
            return "a branch on what is drawn"
        names = {**self.names, **dict(zip(self.parameters, args, strict=True))}
        try:
            self.run(*[eval(place, names) for place in self.inputs])
        except StaleTapeError as error:
            return str(error).splitlines()[0]
        return "none any more"


def _compared(pin: Any) -> Any:
    """All of a value that tests compare something with, and of an object its class: they test which object it is."""
    if type(pin) is np.ndarray and not pin.dtype.hasobject:
        return pin.dtype.str, pin.shape, pin.tobytes()
    if type(pin) is list:
        return [_compared(part) for part in pin]
    return readable_state(pin) if has_readable_state(pin) else type(pin)


def _quiet(run: Callable[..., Any]) -> Callable[..., Any]:
    """The code of a function that says itself which floating-point errors are told: the caller is not told of them."""

    def call(*given: Any) -> Any:
        told: Any = {} if what_raises()[0] else {name: "ignore" for name, how in np.geterr().items() if how == "warn"}
        with np.errstate(**told):
            return run(*given)

    return call


def _no_alias_test(places: list[str]) -> list[str]:
    """The test that no array in a container that is given stands at another place, too: then it is one input."""
    given = [place for place in places if re.match(r"a\d", place)]
    inside = [place for place in given if not place[1:].isdigit()]
    bare = [place for place in given if place[1:].isdigit()]
    if not inside or len(given) < 2:
        return []
    parts, whole = (", ".join([f"id({place})" for place in places]) for places in (inside, bare))
    return [f"len({{{parts}}}{f' - {{{whole}}}' * bool(bare)}) == {len(inside)}"]


def _kind_test(name: str, place: str, outer: OuterInput, reads: Reads) -> str:
    """The test that a number or an array is of the kind that it was; it also gives it its name."""
    value = outer.original
    if type(value) is np.ndarray:
        like = f"{name}.shape == {value.shape} and {reads.dtype_guard(name, value.dtype)}"
        return f"type({name} := {place}) is ndarray and {like}"
    return f"type({name} := {place}) is {'float' if type(value) is float else reads.pin(type(value))}"
