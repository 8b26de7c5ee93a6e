"""Cache entries: the guards of a trace and the code of its tape, as one generated function."""

from __future__ import annotations

import functools
import itertools
import linecache
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from wengert.compiling.loops.earlier_traces import EarlierTrace
from wengert.compiling.loops.lowering import find_reverse
from wengert.compiling.optimising import optimised_by
from wengert.compiling.pipeline import LOWERING, OPTIMISING, Context
from wengert.compiling.selections.whole_tapes import lengths_by_line
from wengert.compiling.watched.guards import with_labels
from wengert.compiling.watched.marks import Earlier, loops_ended_by_guards
from wengert.compiling.watched.tracing import WatchedTrace
from wengert.compiling.watched.watchable import has_readable_state, readable_state
from wengert.errors import StaleTapeError
from wengert.recording.decisions import what_raises
from wengert.values.codes import code_of
from wengert.values.cotangents import has_nan
from wengert.values.random_states import random_state, set_random_state


class Miss:
    """Returned by an entry instead of a result: a guard fails, or the code raises an exception."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return self.words


MISS = Miss("a guard fails")
STALE = Miss("a guard inside the code fails")
FAILED = Miss("the code raises an exception")
_entry_numbers = itertools.count(1)


class CodeSettings(NamedTuple):
    """The settings of `wg.compile` for its code: `exact`, `native` and `parallel`."""

    exact: bool
    native: bool | None
    parallel: bool


_CODE_READ = re.compile(r"\b(k\d+)\.__code__\b")


class CompiledTrace:
    """A compiled trace: after `compile`, `call` returns the result of a call that passes its guards, else a Miss.

    `guards` are expressions that have to be true, in order; `names` are their global variables. Entries with equal
    `code_key` run the same code, and differ only in the objects that their guards check. `traced` is the trace while
    the entry is being made; `history` has what is kept of the traces whose branches are in its loops, its own last, and
    `samples` the inputs of those whose calls it can make. With `frees_loops`, NoFreeLoopError is raised before the code
    is optimised if no loop becomes free; with the `mark` of earlier traces, if nothing joins these.
    """

    def __init__(
        self,
        traced: WatchedTrace,
        parameters: list[str],
        settings: CodeSettings,
        loops: bool = True,
        frees_loops: bool = False,
        mark: Earlier | None = None,
    ) -> None:
        reads = traced.reads
        assert traced.tape is not None
        self.traced: Any = traced
        self.history: list[EarlierTrace] = []
        self.samples: list[tuple[EarlierTrace, list[Any]]] = []
        has_reverse_pass = bool(reads.recording.notes) or bool(find_reverse(traced.tape))
        self.takes_derivative = has_reverse_pass and not reads.draws  # another run would draw other numbers
        heads, self.recorded = loops_ended_by_guards(traced.tape), len(traced.tape)
        self.selection_sample: list[Any] = []  # the inputs of a trace that chose items by masks
        if lengths_by_line(traced.tape):
            inputs: list[Any] = [v.op for v in traced.tape.inputs]
            self.selection_sample = [op.val for op in inputs if not op.callee]
        context = Context(settings.exact, loops and not (reads.draws or reads.asks_time_again))
        if frees_loops or mark is not None:
            context.is_wanted = lambda: reads.heads.frees_loops if mark is None else mark.joined
        self.tape = optimised_by([*LOWERING, *OPTIMISING], traced.tape, context)
        self.loops = {site: head.description for site, head in heads.items()}
        self.parameters, self.inputs, self.labels = parameters, [*reads.inputs], reads.labels
        self.native = settings.native
        self.tape.parallel = settings.parallel
        self.run: Any = None  # the code of the tape, and more to come of `compile`
        self.guards, self.final_guards = reads.all_guards(), [*reads.final_guards]
        self.draws, self.generators = reads.draws, reads.generators
        self.counted, self.effects, self.integers = {*reads.counters}, traced.effects, reads.integers
        self.names: dict[str, Any] = {f"k{k}": pin for k, pin in enumerate(reads.pins)}
        self.names.update(MISS=MISS, STALE=STALE, FAILED=FAILED, StaleTapeError=StaleTapeError, ndarray=np.ndarray)
        self.names.update(has_nan=has_nan, random_state=random_state, set_random_state=set_random_state)

    def compile(self) -> Self:
        """Generate the code."""
        reads = self.traced.reads
        self.run = self.tape.compile("run", native=self.native)
        sets_warnings = reads.recording.checks_fp_errors or reads.effects.filters_warnings
        self.names["run"] = _without_fp_warnings(self.run) if sets_warnings else self.run
        self.returned = self.traced.returned
        self.source = self._source_text(self.returned)
        self.code_key = self._code_key(reads.pins)
        self.call = self._compile_entry()
        return self

    def _source_text(self, returned: str) -> str:
        guards = "\n                and ".join(f"({guard})" for guard in self.guards) or "True"
        places = [name if name in self.draws else f"i{k}" for k, name in enumerate(self.inputs)]
        given = ", ".join(
            [
                f"float({place})" if name in self.counted else place
                for name, place in zip(self.inputs, places, strict=True)
            ]
        )
        keep = "".join(f"        s{k} = random_state({place})\n" for k, place in enumerate(self.generators))
        back = "".join(f"        set_random_state({place}, s{k})\n" for k, place in enumerate(self.generators))
        draw = "".join(f"        {name} = {how}\n" for name, how in self.draws.items())
        effects = "".join([f"        {line}\n" for line in self.effects])
        if self.effects:  # the function runs again, uncompiled, where the reverse pass gives a nan
            fails = "    if has_nan(result):\n        return FAILED\n" if self.takes_derivative else ""
            made = f"    result = {returned}\n{fails}"
            effects, returned = f"{made}    if make_effects:\n{effects}", "result"
        return (
            f"def entry({', '.join([*self.parameters, *['make_effects=True'] * bool(self.effects)])}):\n"
            "    try:\n"
            f"        if not ({guards}):\n"
            "            return MISS\n"
            "    except (KeyError, IndexError, AttributeError, TypeError, ValueError):\n"
            "        return MISS\n"
            "    try:\n"
            f"{keep}{draw}        r = run({given})\n"
            "    except StaleTapeError:\n"
            f"{back}        return STALE\n"
            "    except Exception:\n"
            f"{back}        return FAILED\n"
            f"{effects}    return {returned}\n"
        )

    def _compile_entry(self) -> Callable[..., Any]:
        file = f"<wengert entry {next(_entry_numbers)}>"
        exec(compile(self.source, file, "exec"), self.names)
        made: Callable[..., Any] = self.names.pop("entry")  # or its globals would hold it, and its buffers, in a cycle
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(keepends=True), file)
        weakref.finalize(made, linecache.cache.pop, file, None)
        return made

    @functools.cached_property
    def bind(self) -> Callable[..., tuple[Any, ...] | None]:
        """The function from arguments to the inputs of `run`; to None if a guard fails.

        It may be called where a trace is open, whose functions run other code.
        """
        guards = " and ".join([_CODE_READ.sub(r"code_of(\1)", f"({guard})") for guard in self.guards]) or "True"
        return self._function(
            f"def made({', '.join(self.parameters)}):\n"
            f"    try:\n        if not ({guards}):\n            return None\n"
            "    except (KeyError, IndexError, AttributeError, TypeError, ValueError):\n        return None\n"
            f"    return ({''.join([f'i{k}, ' for k in range(len(self.inputs))])})\n"
        )

    @functools.cached_property
    def result_of(self) -> Callable[[Any], Any]:
        """The function from what `run` returns to the result of the call."""
        return self._function(f"def made(r):\n    return {self.returned}\n")

    def _function(self, source: str) -> Callable[..., Any]:
        names = {**self.names, "code_of": code_of}
        exec(compile(source, "<wengert entry>", "exec"), names)
        made: Callable[..., Any] = names.pop("made")
        return made

    def _code_key(self, pins: list[Any]) -> Any:
        return self.source, self.run.source, [_comparable(pin) for pin in pins]

    def value(self, *args: Any) -> Any:
        """Return the result of a call without its effects."""
        return self.call(*args, False) if self.effects else self.call(*args)

    def describe(self, text: str) -> str:
        """Return an accessor or a guard with the labels of the objects in it."""
        return with_labels(text, self.labels)

    def failing_guard(self, args: tuple[Any, ...]) -> str | None:
        """Describe the first guard that fails for these arguments and the current outer values; None without one."""
        guard = next(self._failing_guards(args), None)
        return guard and self.describe(guard)

    def changed_integers(self, args: tuple[Any, ...]) -> Iterator[str]:
        """Describe the integers, and arrays of integers, whose values are the first guards that fail."""
        for guard in itertools.takewhile(self.integers.__contains__, self._failing_guards(args)):
            yield self.describe(self.integers[guard])

    def _failing_guards(self, args: tuple[Any, ...]) -> Iterator[str]:
        names = {**self.names, **dict(zip(self.parameters, args, strict=True))}
        for guard in self.guards:
            try:
                if eval(guard, names):
                    continue
            except (KeyError, IndexError, AttributeError, TypeError, ValueError):
                pass
            yield guard

    @property
    def is_expired(self) -> bool:
        """Whether a guard fails that can never pass again."""
        try:
            return not all([eval(guard, dict(self.names)) for guard in self.final_guards])
        except (KeyError, IndexError, AttributeError, TypeError, ValueError):
            return True

    def failing_tape_guard(self, args: tuple[Any, ...]) -> str:
        """Describe the guard inside the code that fails for these arguments, which pass all other guards."""
        if self.draws:
            return "a branch on a random number"
        names = {**self.names, **dict(zip(self.parameters, args, strict=True))}
        try:
            given = [eval(place, names) for place in self.inputs]
            self.run(*[float(a) if type(a) is int else a for a in given])
        except StaleTapeError as error:
            return str(error).splitlines()[0]
        return "none; it passes now"


def _comparable(pin: Any) -> Any:
    """Return what guards read of a pinned value: its content, or its class if they check its identity only."""
    if type(pin) is np.ndarray and not pin.dtype.hasobject:
        return pin.dtype.str, pin.shape, pin.tobytes()
    if type(pin) is list:
        return [_comparable(item) for item in pin]
    return readable_state(pin) if has_readable_state(pin) else type(pin)


def _without_fp_warnings(run: Callable[..., Any]) -> Callable[..., Any]:
    """Run the code of a function that sets `np.errstate` itself, without warnings in its caller's settings."""

    def call(*given: Any) -> Any:
        warned = [] if what_raises()[0] else [error for error, how in np.geterr().items() if how == "warn"]
        ignored: Any = dict.fromkeys(warned, "ignore")
        with np.errstate(**ignored):
            return run(*given)

    return call
