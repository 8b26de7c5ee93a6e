"""`wg.compile`: trace a function once for each set of guards, and run generated code in later calls."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from wengert.compiling.entries import FAILED, STALE, CodeSettings, CompiledTrace, Miss
from wengert.compiling.joining import agree_on_sample, begin_history, joined, likeliest, replaces, reproducing
from wengert.compiling.loops.lowering import NoFreeLoopError, find_reverse, warn_of_bug
from wengert.compiling.loops.while_loops import is_head
from wengert.compiling.native.tiering import continue_timing, load_compiler, require_compiler
from wengert.compiling.selections.whole_tapes import lines_with_lengths
from wengert.compiling.watched.around import fp_errors_key
from wengert.compiling.watched.effects import Learned
from wengert.compiling.watched.loop_heads import Heads
from wengert.compiling.watched.symbolic_ints import SymbolicIntError
from wengert.compiling.watched.tracing import FUNCTION_ERRORS, Tracer, WatchedTrace
from wengert.compiling.watched.watchable import Wrapper
from wengert.errors import NotCompiledError, NotCompiledWarning, StaleTapeError, WengertError
from wengert.recording.recording import STATE
from wengert.recording.session import SESSION
from wengert.rulebook.registry import rules
from wengert.values import signatures
from wengert.values.callables import callable_name, unwrapped
from wengert.values.completion import hides
from wengert.values.cotangents import has_nan
from wengert.values.frames import warn
from wengert.values.garbage import collections_paused
from wengert.values.progress import Telling
from wengert.values.settings import SETTINGS
from wengert.values.transformed import Remade, check_function

MOST_PER_FORM, MOST_TRACES = 8, 64
"""The most traces that are kept for one form of call, and in all; also the most with the same code."""
LONGEST_WAIT = 20.0
"""Seconds that a thread waits for another one's trace before it runs the function uncompiled."""


@hides("generation_errors", "quiet", "settings", "strict", "wrapped")
class CompiledFunction(Remade, Wrapper):
    """A compiled function: it takes the arguments of the original function and returns the same result."""

    generation_errors: tuple[type[Exception], ...] = (Exception,)
    """Exceptions in generating code that are reported instead of raised; tests have them raised."""

    def __init__(
        self,
        g: Callable[..., Any],
        exact: bool,
        strict: bool,
        native: bool | None,
        quiet: bool = False,
        parallel: bool = False,
    ) -> None:
        functools.update_wrapper(self, g)
        self.wrapped, self.strict, self.settings = unwrapped(g), strict, CodeSettings(exact, native, parallel)
        self.recipe = CompiledFunction, g, {**self.settings._asdict(), "strict": strict, "quiet": quiet}
        self.quiet, self._may_be_native = quiet, native is not False
        self.clear()

    def clear(self) -> None:
        """Forget all traces, and the reason why the function ran uncompiled."""
        self._entries: dict[Any, list[CompiledTrace]] = {}
        self._eager: str | None = None
        self._callees: Any = None
        self._tracer: int | None = None  # the thread that traces the function
        self._has_changed = False
        self._learned = Learned()
        self._version = rules.version

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if STATE.recording is not None or STATE.silenced is not None:
            recording = STATE.recording
            return (self.wrapped if recording is None else recording.enter(self.wrapped))(*args, **kwargs)
        errors = fp_errors_key()
        if not SETTINGS.are_default or errors is False:
            return self.wrapped(*args, **kwargs)
        if self._version != rules.version:
            self.clear()
        given = (*args, *kwargs.values()) if kwargs else args
        key: Any = (len(args), *kwargs) if kwargs else len(args)
        key = (key, errors) if errors else key
        entries: Sequence[CompiledTrace] = self._entries.get(key, ())
        stale: tuple[CompiledTrace, ...] = ()
        for entry in entries:
            result = entry.call(*given)
            if type(result) is not Miss:
                if entry is not entries[0]:  # the next call is likely to use it, too
                    self._entries[key] = [entry, *[other for other in entries if other is not entry]]
                if entry.takes_derivative and has_nan(result):  # perhaps 0·inf, which a reverse pass avoids
                    return self.wrapped(*args, **kwargs)
                return result
            if result is FAILED:
                return self.wrapped(*args, **kwargs)
            if result is STALE:
                stale = *stale, entry
        return self._trace_or_run(key, args, kwargs, stale)

    def fitting(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[CompiledTrace, tuple[Any, ...]]]:
        """Return the traces that fit a call, and the inputs of their code, also while another trace is open."""
        if self._version != rules.version or not SETTINGS.are_default or fp_errors_key() is not None:
            return []
        entries = self._entries.get((len(args), *kwargs) if kwargs else len(args), ())
        bound = [(entry, entry.bind(*args, *kwargs.values())) for entry in entries]
        return [(entry, inputs) for entry, inputs in bound if inputs is not None]

    def _trace_or_run(
        self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stale: Sequence[CompiledTrace]
    ) -> Any:
        """Make a call that no entry fits: trace it, or run the function uncompiled; `stale` have code with a branch."""
        tracer = self._tracer
        if tracer is not None and self._eager is None:
            return (self if self._has_waited(tracer) else self.wrapped)(*args, **kwargs)
        if SESSION.recordings:
            return self.wrapped(*args, **kwargs)
        self._entries = {key: [entry for entry in of if not entry.is_expired] for key, of in self._entries.items()}
        known = self._entries.get(key, [])
        counts = {of: _count_paths(entries) for of, entries in self._entries.items()}
        if self._eager is None and (counts.get(key, 0) >= MOST_PER_FORM or sum(counts.values()) >= MOST_TRACES):
            given = (*args, *kwargs.values())
            guard = known and (known[0].failing_guard(given) or known[0].failing_tape_guard(given))
            self._give_up(
                f"its calls need too many traces; the last guard that failed: {guard or 'the form of the call'}"
            )
        if self._eager is not None:
            self._raise_if_strict()
            if self._callees is None:  # a module that no function needs which is compiled
                self._callees = importlib.import_module("wengert.api.callees").Callees(self.settings._asdict())
            with self._callees.called():
                return self.wrapped(*args, **kwargs)
        self._tracer = threading.get_ident()
        try:
            with Telling("trace", self.wrapped, quiet=self.quiet):
                return self._trace(key, args, kwargs, stale)
        finally:
            self._tracer = None

    def _has_waited(self, tracer: int) -> bool:
        """Wait for the thread that traces the function; return whether it finished in time.

        Do not wait for a thread that itself waits for this one.
        """
        until = time.monotonic() + (0.0 if tracer == threading.get_ident() else LONGEST_WAIT)
        while self._tracer == tracer and time.monotonic() < until and not SESSION.is_waiting(tracer):
            if tracer not in sys._current_frames():  # as in the child of a fork
                self._tracer = None
            time.sleep(0.005)
        return self._tracer != tracer

    def learn(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Trace a call that nobody has made, and return its result.

        Errors: NotCompiledError before the call has an effect; also while anything else is traced.
        """
        if SESSION.recordings or self._tracer is not None:
            raise NotCompiledError("something else is traced")
        self._tracer = threading.get_ident()
        try:
            return self._trace((len(args), *kwargs) if kwargs else len(args), args, kwargs, (), alone=True)
        finally:
            self._tracer = None

    def _trace(
        self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stale: Sequence[CompiledTrace],
        alone: bool = False,
    ) -> Any:  # fmt: skip
        """Make a call with tracing, and keep its trace if it can be compiled; `alone`: else raise NotCompiledError."""
        if self.settings.native:
            load_compiler()  # it registers classes, which a guard of an open trace would notice
        tracer = Tracer(self.wrapped, args, kwargs, self._learned, self._may_be_native)
        given = tracer.given
        self._learned.note_changes({n for entry in self._entries.get(key, ()) for n in entry.changed_integers(given)})
        self._learned.selects |= self._learned.may_select and any([entry.selection_sample for entry in stale])
        others, knew = self._entries_of_other_branches(key, given), len(self._learned)
        try:
            earlier = others[0].history[-1].heads if others else None
            found = tracer.with_restarts(earlier, alone)
        except FUNCTION_ERRORS:
            raise
        except WengertError as error:
            if alone:
                raise
            result = self.wrapped(*args, **kwargs)
            may_help = self._learned.joins_less()
            if isinstance(error, SymbolicIntError) and not may_help:
                self._learn_from(error)
            elif len(self._learned) == knew and not may_help:
                self._give_up(f"tracing it raised {type(error).__name__}: {str(error).splitlines()[0]}")
            return result
        finally:
            SESSION.tidy()
        if found.tape is None:
            has_learned = len(self._learned) > knew
            if found.reads.may_retry and (has_learned or not self._has_changed):
                self._has_changed |= not has_learned  # it may have filled a cache of its own
                if any([not entry.failing_guard(given) for entry in self._entries.get(key, ())]):
                    self._learned.waits = 0  # it did, and an earlier trace serves again
            elif not self._learned.joins_less():
                self._give_up(str(found.reads.obstacle))
            return found.value
        result = found.value
        with collections_paused():  # the trace and the tapes made of it are garbage soon
            self._compile(key, found, tracer, others, stale)
            del found
        return result

    def _compile(
        self,
        key: Any,
        found: WatchedTrace,
        tracer: Tracer,
        others: list[CompiledTrace],
        stale: Sequence[CompiledTrace],
    ) -> None:
        """Make the code of a trace, and keep it; else give up."""
        try:
            found, entry = self._with_free_loops(found, tracer, others[0].history[-1].heads if others else None)
            entry = entry or CompiledTrace(found, _parameters(tracer.given), self.settings).compile()
            with found.reads.effects.undone():
                self._keep(key, entry, others, found, tracer.given, stale)
        except Exception as error:
            if found.reads.lengths is not None and isinstance(error, self.generation_errors):
                self._learned.select_no_more()
            elif isinstance(error, StaleTapeError) and found.reads.clock_places:
                self._give_up(f"it takes another branch as time passes: {str(error).splitlines()[0]}")
            elif isinstance(error, self.generation_errors):
                self._give_up(f"generating its code raised {error!r}, a bug in wengert. Please report it")
            else:
                raise

    def _learn_from(self, error: SymbolicIntError) -> None:
        """Guard integers from now on, if an integer is used in other ways than those that the tape can record."""
        if self._learned.counted and not self._learned.grown:
            self._learned.count_no_more()
        else:
            self._give_up(str(error).splitlines()[0])

    def _keep(
        self,
        key: Any,
        entry: CompiledTrace,
        others: list[CompiledTrace],
        found: WatchedTrace,
        given: tuple[Any, ...],
        stale: Sequence[CompiledTrace],
    ) -> None:
        """Keep an entry whose code reproduces the trace, if possible joined with one of the others; else give up."""
        self._version = rules.version  # tracing may have loaded some
        if found.reads.lengths is not None and not self._serves_lengths_of(key, entry, stale):
            return
        if not found.is_stateful:
            begin_history(entry)
        other = likeliest(entry, others)
        made = other and self._reproducing(lambda: joined(entry, other, self.settings), found, given)
        if made:
            continue_timing(made.run, [each.run for each in self._entries[key]])
            self._entries[key] = [made, *[each for each in self._entries[key] if not replaces(made, each)]]
            made.traced = None
            return
        is_alone = not SESSION.recordings  # traces in other threads swap code, so that guards fail
        failing = entry.failing_guard(given)
        verified = None if failing else self._verified(entry, found, given)
        has_failed = verified and any([each.code_key == verified.code_key for each in stale])
        if verified and has_failed and not found.reads.draws and verified.value(*given) is STALE:
            self._give_up("its generated code refuses the values of its trace, a bug in wengert. Please report it")
        elif verified is not None:
            continue_timing(verified.run, [each.run for each in (*stale, *self._entries.get(key, ()))])
            self._entries[key] = _with_entry(self._entries.get(key, ()), verified)
            verified.traced = None
        elif failing and not self._has_changed:
            self._has_changed = True  # it may have loaded a module
        elif is_alone and not SESSION.recordings:
            changed = f"it changes values that it reads from outside the function; the guard that failed: {failing}"
            self._give_up(changed if failing else "its generated code returned other numbers than its trace")

    def _serves_lengths_of(self, key: Any, entry: CompiledTrace, stale: Sequence[CompiledTrace]) -> bool:
        """Whether an entry for selections of any lengths agrees with those for other lengths; it replaces these."""
        served = {other: agree_on_sample(entry, other) for other in stale}
        if False in served.values():
            self._learned.select_no_more()
            return False
        self._entries[key] = [other for other in self._entries.get(key, ()) if not served.get(other)]
        return True

    def _with_free_loops(
        self, found: WatchedTrace, tracer: Tracer, earlier: Heads | None
    ) -> tuple[WatchedTrace, CompiledTrace | None]:
        """Make an entry with symbolic loop counters, if that frees a loop from its traced number of iterations.

        Return it with the trace; if the trace has counters, and they free none, with another one without them.
        """
        may_repeat = not (found.effects or found.reads.draws)
        found = self._with_selections(found, tracer, earlier) if may_repeat else found
        again = found if found.is_lifted else None
        if may_repeat:
            again = tracer.with_counters(found) or again
        entry = again and self._freeing_loops(again, found, tracer.given)
        if found.is_lifted and entry is None and may_repeat:
            plain = tracer.again(None, earlier)
            found = found if plain.tape is None else plain._replace(value=found.value)
        if entry is None:
            found.reads.heads.retyped.restore(found.tape)
        return found, entry

    def _with_selections(self, found: WatchedTrace, tracer: Tracer, earlier: Heads | None) -> WatchedTrace:
        """Trace a call again, with selections of any length, if a mask in a loop chooses several numbers of items."""
        lines = lines_with_lengths(found.tape) if found.reads.lengths is None and self._learned.may_select else ()
        if not lines:
            return found
        self._learned.selects = True
        self._learned.varying.update(lines)
        for lifts in [found.reads.heads.lifts, None] if found.is_lifted else [None]:
            with suppress(WengertError):
                again = tracer.again(lifts, earlier)
                return found if again.tape is None else again._replace(value=found.value)
        return found

    def _reproducing(
        self, make: Callable[[], CompiledTrace | None], found: WatchedTrace, given: tuple[Any, ...]
    ) -> CompiledTrace | None:
        """Make an entry that reproduces a trace; return None if that fails, or there is none."""
        try:
            made = make()
        except NoFreeLoopError:
            return None
        except self.generation_errors as error:
            warn_of_bug(error)
            return None
        return reproducing(made, found.value, given) if made and not made.failing_guard(given) else None

    def _freeing_loops(self, found: WatchedTrace, like: WatchedTrace, given: tuple[Any, ...]) -> CompiledTrace | None:
        """Make an entry that reproduces another trace; return None if this does not free a loop."""
        make = functools.partial(CompiledTrace, found, _parameters(given), self.settings, frees_loops=True)
        return self._reproducing(lambda: make().compile(), like, given)

    def _entries_of_other_branches(self, key: Any, given: tuple[Any, ...]) -> list[CompiledTrace]:
        """Return the entries whose guards hold, so that only a branch inside their code was another one."""
        entries = [entry for entry in self._entries.get(key, ()) if entry.history]
        return [entry for entry in entries if not entry.failing_guard(given)]

    def _verified(self, entry: CompiledTrace, found: WatchedTrace, given: tuple[Any, ...]) -> CompiledTrace | None:
        """Return an entry whose code reproduces the trace, if need be a less optimised one; None if none does."""
        tape: Any = found.tape
        is_changed = find_reverse(tape) or any(map(is_head, tape)) or found.reads.lengths is not None
        if found.reads.draws or not is_changed:
            return entry
        for exact in (self.settings.exact, True):
            if reproducing(entry, found.value, given):
                return entry
            entry = CompiledTrace(found, entry.parameters, self.settings._replace(exact=exact), loops=False).compile()
        return reproducing(entry, found.value, given)

    def _give_up(self, reason: str) -> None:
        """Run uncompiled from now on, and warn."""
        self._eager, self._version = reason, rules.version
        self._raise_if_strict()
        said = f"{callable_name(self.wrapped)} runs uncompiled: {reason.rstrip('.')}. {_STILL_CORRECT}"
        warn(said, NotCompiledWarning)

    def _raise_if_strict(self) -> None:
        """With `strict`, raise the reason why the function would run uncompiled."""
        if self.strict:
            name = callable_name(self.wrapped)
            raise NotCompiledError(f"{name} cannot be compiled: {self._eager}\n{_HOW_TO_COMPILE}")

    @property
    def status(self) -> str:
        """The state of the code: "compiled natively", "compiled natively in part", "compiled (NumPy)".

        "partly compiled": only functions that it calls are compiled. "not compiled": none, or it has not been called.
        """
        if self._eager is not None:
            return "partly compiled" if self._callees and self._callees.compiled else "not compiled"
        runs = [entries[0].run for entries in self._entries.values() if entries]
        states = [getattr(run, "state", "") for run in runs]
        if not runs or not any([state.startswith("native code") for state in states]):
            return "compiled (NumPy)" if runs else "not compiled"
        return f"compiled natively{' in part' * any([',' in state or 'native' not in state for state in states])}"

    def explain(self) -> str:
        """Describe the traces so far: their inputs, guards and loops; and why the function runs uncompiled, if so."""
        count = sum(map(len, self._entries.values()))
        lines = [f"{callable_name(self.wrapped)}: {self.status}, {count} trace{'s' * (count != 1)}"]
        lines += [f"compiled alone: {name}" for name in self._callees.compiled] if self._callees else []
        for key, entries in self._entries.items():
            for entry in entries:
                state = getattr(entry.run, "state", None)
                ops = f"{len(entry.tape)} ops of {entry.recorded} recorded, {len(entry.guards)} guards"
                lines.append(f"called with {key}: {ops}{(state and f', run by {state}') or ''}")
                lines += [f"  {site}: the loop runs {words}" for site, words in entry.loops.items()]
                lines += [f"  pass {each}" for each in (*entry.tape.passes, *getattr(entry.run, "passes", ()))]
                lines += [f"  {words}" for words in getattr(entry.run, "blocks", ())]
                lines += [f"  reads {entry.describe(place)}" for place in entry.inputs]
                lines += [f"  guard {entry.describe(guard)}" for guard in entry.guards]
        return "\n".join([*lines, *([f"runs uncompiled: {self._eager}"] if self._eager else [])])

    def source(self) -> str:
        """Return the generated code of all traces."""
        entries = [entry for entries in self._entries.values() for entry in entries]
        return "\n\n".join([f"{entry.run.source}\n\n{entry.source}" for entry in entries])


_HOW_TO_COMPILE = """\
To compile it, pass as arguments what this line reads or changes, move the line before or after the call, or compile
only the function that it calls. Without strict=True the function runs uncompiled. See docs/compiled.md."""
_STILL_CORRECT = "Its results are correct, only not faster; docs/compiled.md lists what can be compiled"


def _parameters(given: Sequence[Any]) -> list[str]:
    return [f"a{k}" for k in range(len(given))]


def _with_entry(entries: Sequence[CompiledTrace], entry: CompiledTrace) -> list[CompiledTrace]:
    """Append an entry; it replaces the last one with the same code if there are MOST_PER_FORM of these."""
    alike = [other for other in entries if other.code_key == entry.code_key]
    return [*[other for other in entries if len(alike) < MOST_PER_FORM or other is not alike[-1]], entry]


def _count_paths(entries: Sequence[CompiledTrace]) -> int:
    """Count the entries, those with the same code once."""
    keys = [entry.code_key for entry in entries]
    return len([key for k, key in enumerate(keys) if key not in keys[:k]])


@signatures.compile
def compile(
    g: Callable[..., Any] | None = None,
    *,
    exact: bool = False,
    strict: bool = False,
    native: bool | None = None,
    quiet: bool = False,
    parallel: bool = False,
) -> Any:
    """Return a compiled `g`: the first call traces it, later calls run generated code.

    Before the code runs, guards check that it is still valid: that the arguments have the same form, and that the
    integers, strings, functions and classes which the function read from outside (globals, closures, attributes,
    defaults) are the same. If a guard fails, the call is traced again. Floats and float arrays from outside are read
    anew at each call. Results equal those of `g` to 1e-12 of the largest.

    A function with side effects, or that reads objects which wengert cannot inspect, runs uncompiled. A long trace
    shows its progress on a terminal.

    Parameters:
        g (callable): `grad(f)`, `value_and_grad(f)`, `jacobian(f)` or any function, which may take derivatives itself.
            Without it, `compile` returns a decorator.
        exact (bool): Compute nothing in another order than `g`.
        strict (bool): Raise an error instead of running uncompiled. It may come with the second call only, if another
            trace might have helped.
        native (bool | None): Compile the code with numba at the first call. By default, numba is used if it is
            installed, without `exact`, once that pays; with False never.
        quiet (bool): Show no progress.
        parallel (bool): Compute blocks of rows of large arrays on several threads: NUMBA_NUM_THREADS, or one for each
            core. Sums are added in the order of the blocks, so the number of threads changes no bit of a result.
    Returns:
        callable: The compiled function. Its method `explain()` describes the traces, `source()` returns the generated
            code, and `clear()` forgets all traces.
    Raises:
        NativeUnavailableError: `native` is True and numba is not installed.
        NotCompiledError: With `strict`, the function cannot be compiled.
    Warns:
        NotCompiledWarning: The function runs uncompiled; the warning, issued once, says why.
    See Also:
        grad, value_and_grad, trace, profile

    Examples:
        >>> scale = {"a": 2.0}
        >>> g = wg.compile(wg.grad(lambda x: scale["a"] * x**2))
        >>> g(3.0), g(3.0)
        (12.0, 12.0)
        >>> scale["a"] = 10.0
        >>> g(3.0)
        60.0
    """
    native = False if exact and native is None else native
    if native:
        require_compiler()
    if g is not None:
        check_function(compile, g)
    made = functools.partial(
        CompiledFunction, exact=exact, strict=strict, native=native, quiet=quiet, parallel=parallel
    )
    return made if g is None else made(g)


__all__ = ["CompiledFunction", "compile"]
