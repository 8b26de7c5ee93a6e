"""`wg.compile`: a function whose calls are traced once for each way they go, and run as generated code afterwards."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.entries import FAILED, CompiledTrace, Miss
from wengert.compiling.loops.lowering import agree_numerically, find_reverse, warn_of_bug
from wengert.compiling.loops.while_call import free_loops_on
from wengert.compiling.loops.while_loops import is_head
from wengert.compiling.native.module import load_compiler
from wengert.compiling.watched.around import errors_around
from wengert.compiling.watched.guards import Wrapper
from wengert.compiling.watched.tracing import Traced, counting, traced
from wengert.errors import (
    ArgumentError,
    EagerWarning,
    IntegerInputError,
    NoDerivativeError,
    NoGradientPathError,
    NonScalarOutputError,
    NotCompiledError,
    WengertError,
)
from wengert.recording.recording import STATE
from wengert.recording.session import SESSION
from wengert.rulebook.keeping import has_nan
from wengert.rulebook.registry import rules
from wengert.values import signatures
from wengert.values.callables import callable_name, unwrapped
from wengert.values.frames import warn
from wengert.values.progress import Telling
from wengert.values.settings import SETTINGS
from wengert.values.transformed import Remade, check_function

OF_A_KEY, IN_ALL = 8, 64
"""How many entries there may be for one form of call, and in all; of those that are alike, so many are kept."""
LONGEST_WAIT = 20.0
"""Seconds that a thread waits for what another one traces, before it runs the function as it is."""

NOT_OF_A_TRACE = ArgumentError, IntegerInputError, NoDerivativeError, NoGradientPathError, NonScalarOutputError
"""Errors of what the function does, by which it ends untraced, too: running it again would do twice what it did."""


class Compiled(Remade, Wrapper):
    """A compiled function: called like the function that it was made of, it gives what that gives."""

    mistakes: tuple[type[Exception], ...] = (Exception,)
    """Exceptions in making code of a trace that are reported and do not end the call; tests have them raised."""

    def __init__(
        self, g: Callable[..., Any], exact: bool, strict: bool, native: bool | None, quiet: bool = False
    ) -> None:
        functools.update_wrapper(self, g)
        self.wrapped, self.exact, self.strict, self.native = unwrapped(g), exact, strict, native
        self.recipe = Compiled, g, {"exact": exact, "strict": strict, "native": native, "quiet": quiet}
        self.quiet = quiet
        self.clear()

    def clear(self) -> None:
        """Forget all traces, and what kept the function from being compiled."""
        self._entries: dict[Any, list[CompiledTrace]] = {}
        self._eager: str | None = None
        self._tracer: int | None = None  # the thread that traces it
        self._has_changed = False
        self._version = rules.version

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if STATE.recording is not None or STATE.silenced is not None:
            recording = STATE.recording
            return (self.wrapped if recording is None else recording.enter(self.wrapped))(*args, **kwargs)
        errors = errors_around()
        if not SETTINGS.are_default or errors is False:
            return self.wrapped(*args, **kwargs)
        if self._version != rules.version:
            self.clear()
        given = (*args, *kwargs.values()) if kwargs else args
        key: Any = (len(args), *kwargs) if kwargs else len(args)
        key = (key, errors) if errors else key
        entries: Sequence[CompiledTrace] = self._entries.get(key, ())
        for entry in entries:
            result = entry.call(*given)
            if type(result) is not Miss:
                if entry is not entries[0]:  # the next call is likely to go the same way
                    self._entries[key] = _with_first(entries, entry)
                if entry.derives and has_nan(result):  # maybe of a zero beside an infinity, which a walk back keeps
                    return self.wrapped(*args, **kwargs)
                return result
            if result is FAILED:
                return self.wrapped(*args, **kwargs)
        return self._missed(key, args, kwargs)

    def _missed(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that no entry fits: it is traced, or runs as it is."""
        tracer = self._tracer
        if tracer is not None and self._eager is None:
            return (self if self._has_waited(tracer) else self.wrapped)(*args, **kwargs)
        if SESSION.recordings:
            return self.wrapped(*args, **kwargs)
        self._entries = {key: [entry for entry in of if not entry.is_over] for key, of in self._entries.items()}
        known = self._entries.get(key, [])
        ways = {of: _count_paths(entries) for of, entries in self._entries.items()}
        if self._eager is None and (ways.get(key, 0) >= OF_A_KEY or sum(ways.values()) >= IN_ALL):
            given = (*args, *kwargs.values())
            why = (known[0].failing(given) or known[0].stale(given)) if known else "how it is called"
            self._give_up(f"its calls go too many ways; the last test that failed: {why}")
        if self._eager is not None:
            self._refuse()
            return self.wrapped(*args, **kwargs)
        self._tracer = threading.get_ident()
        try:
            with Telling("trace", self.wrapped, quiet=self.quiet):
                return self._traced(key, args, kwargs)
        finally:
            self._tracer = None

    def _has_waited(self, tracer: int) -> bool:
        """Wait until another thread, which traces it, has done so; whether it has, and did not take too long.

        That thread may wait for this one: then it is not waited for.
        """
        until = time.monotonic() + (0.0 if tracer == threading.get_ident() else LONGEST_WAIT)
        while self._tracer == tracer and time.monotonic() < until and not SESSION.is_waiting(tracer):
            if tracer not in sys._current_frames():  # as in the child of a fork
                self._tracer = None
            time.sleep(0.005)
        return self._tracer != tracer

    def _traced(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.native:
            load_compiler()  # which registers classes: a trace that is open then would take that for a change outside
        try:
            found = traced(self.wrapped, args, kwargs)
        except NOT_OF_A_TRACE:
            raise
        except WengertError as error:
            result = self.wrapped(*args, **kwargs)
            self._give_up(f"its trace ends with {type(error).__name__}: {str(error).splitlines()[0]}")
            return result
        finally:
            SESSION.tidy()
        if found.tape is None:
            if found.reads.may_be_once and not self._has_changed:
                self._has_changed = True  # it may have filled a cache of its own
            else:
                self._give_up(str(found.reads.unkept))
            return found.value
        parameters = [f"a{k}" for k in range(len(args) + len(kwargs))]
        given = (*args, *kwargs.values())
        try:
            entry = self._counting(found, parameters, args, kwargs)
            entry = entry or CompiledTrace(found, parameters, self.exact, self.native)
        except self.mistakes as error:
            self._give_up(f"making its code ends with {error!r}, a mistake in wengert. Please report it")
            return found.value
        is_alone = not SESSION.recordings  # while other threads trace, functions run other code: tests fail for that
        failing = entry.failing(given)
        agreeing = None if failing else self._agreeing(entry, found, parameters, given)
        if agreeing is not None:
            self._version = rules.version  # tracing may have loaded some
            self._entries[key] = _with_last(self._entries.get(key, ()), agreeing)
        elif is_alone and not SESSION.recordings:
            self._give_up(
                f"it changes what it reads from outside: {failing}"
                if failing
                else "its code does not give the numbers of its trace"
            )
        return found.value

    def _counting(self, found: Traced, parameters: list[str], args: Any, kwargs: Any) -> CompiledTrace | None:
        """The entry of a trace in which the tape counts, if loops run any number of times for that."""
        try:
            again, given = counting(self.wrapped, args, kwargs, found), (*args, *kwargs.values())
            if again is None:
                return None
            entry = CompiledTrace(again, parameters, self.exact, self.native)
            is_better = again.reads.heads.are_freed and not entry.failing(given)
            return entry if is_better and _gives(entry, found, given) else None
        except self.mistakes as error:
            warn_of_bug(error)
            return None

    def _agreeing(
        self, entry: CompiledTrace, found: Traced, parameters: list[str], given: tuple[Any, ...]
    ) -> CompiledTrace | None:
        """An entry that gives the numbers of the trace, where its code is not what was recorded; the plainest last."""
        tape: Any = found.tape
        if found.reads.draws or not (find_reverse(tape) or any(map(is_head, tape))):
            return entry
        for exact in (self.exact, True):
            if _gives(entry, found, given):
                return entry
            entry = CompiledTrace(found, parameters, exact, self.native, cut=False)
        return entry if _gives(entry, found, given) else None

    def _give_up(self, words: str) -> None:
        """Run as it is from now on, and say so."""
        self._eager, self._version = words, rules.version
        self._refuse()
        warn(f"{callable_name(self.wrapped)} is not compiled any more: {words}", EagerWarning)

    def _refuse(self) -> None:
        """Where nothing is to run as it is, raise the reason why it would."""
        if self.strict:
            words = f"{callable_name(self.wrapped)} cannot be compiled: {self._eager}\n{_HOW_TO_COMPILE}"
            raise NotCompiledError(words)

    def explain(self) -> str:
        """Describe the traces of the calls until now: guards, outer reads, and why the function runs as it is."""
        lines = [f"{callable_name(self.wrapped)}: {sum(map(len, self._entries.values()))} traces"]
        for key, entries in self._entries.items():
            for entry in entries:
                by = getattr(entry.run, "state", None)
                ops = f"{len(entry.tape)} ops of {entry.recorded} recorded, {len(entry.tests)} tests"
                lines.append(f"called with {key}: {ops}{(by and f', by {by}') or ''}")
                lines += [f"  {site}: the loop runs {words}" for site, words in entry.loops.items()]
                lines += [f"  {words}" for words in getattr(entry.run, "blocks", ())]
                lines += [f"  reads {entry.said(place)}" for place in entry.inputs]
                lines += [f"  tests {entry.said(test)}" for test in entry.tests]
        return "\n".join([*lines, *([f"runs as it is: {self._eager}"] if self._eager else [])])

    def source(self) -> str:
        """The generated code of all entries."""
        entries = [entry for entries in self._entries.values() for entry in entries]
        loops = {loop.source: None for entry in entries for loop in free_loops_on(entry.tape)}
        return "\n\n".join([*loops, *[f"{entry.run.source}\n\n{entry.text}" for entry in entries]])


_HOW_TO_COMPILE = """\
To compile it: give as arguments what the line reads or changes, do it before or after the call, or compile what is
called there. Without strict=True it runs as it is. What can be watched: docs/compiled.md"""


def _gives(entry: CompiledTrace, found: Traced, given: tuple[Any, ...]) -> bool:
    """Whether the code of an entry gives the numbers of its trace; it tells nobody of their overflows again."""
    with np.errstate(all="ignore"):
        made = entry.call(*given)
    return agree_numerically(made, found.value) or (entry.derives and has_nan(made) and not has_nan(found.value))


def _with_first(entries: Sequence[CompiledTrace], entry: CompiledTrace) -> list[CompiledTrace]:
    return [entry, *[other for other in entries if other is not entry]]


def _with_last(entries: Sequence[CompiledTrace], entry: CompiledTrace) -> list[CompiledTrace]:
    """The entries with a new one; it replaces one that is alike where there are as many of these as may be."""
    alike = [other for other in entries if other.alike == entry.alike]
    return [*[other for other in entries if len(alike) < OF_A_KEY or other is not alike[-1]], entry]


def _count_paths(entries: Sequence[CompiledTrace]) -> int:
    """How many entries there are, those that are alike counted once."""
    return len([entry for k, entry in enumerate(entries) if entry.alike not in [other.alike for other in entries[:k]]])


@signatures.compile
def compile(
    g: Callable[..., Any] | None = None,
    *,
    exact: bool = False,
    strict: bool = False,
    native: bool | None = None,
    quiet: bool = False,
) -> Any:
    """A function that gives what `g` gives, and is traced once for each way its calls go.

    `g` is `grad(f)`, `value_and_grad(f)`, `jacobian(f)` or any function, which may take derivatives itself. The first
    call traces it; later ones run generated code, after tests that it would do the same again: that the arguments are
    of the same form, and that all it read from outside (globals, closures, attributes, defaults) is as it was. Floats
    and float arrays from outside are read anew at each call. A function that has effects, or reads what cannot be
    watched, runs as it is; an EagerWarning says so, once, and with `strict` a NotCompiledError does instead. Numbers
    are those of `g` to 1e-12 of the largest; with `exact` nothing is computed in another order. `native` code is
    compiled by numba, where that is installed: by default, and without `exact`, once it has paid to compile it; with
    True at the first call, with False never. What takes long to trace says so on a terminal, unless `quiet`. Without
    `g` it is a decorator.

    >>> scale = {"a": 2.0}
    >>> g = wg.compile(wg.grad(lambda x: scale["a"] * x**2))
    >>> g(3.0), g(3.0)
    (12.0, 12.0)
    >>> scale["a"] = 10.0
    >>> g(3.0)
    60.0

    Errors: NativeUnavailableError for native=True without numba.

    `g.explain()` tells what is kept and read, `g.source()` is the generated code, `g.clear()` forgets.
    """
    native = False if exact and native is None else native
    if g is not None:
        check_function(compile, g)
    made = functools.partial(Compiled, exact=exact, strict=strict, native=native, quiet=quiet)
    return made if g is None else made(g)


__all__ = ["Compiled", "compile"]
