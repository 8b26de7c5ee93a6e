"""The effects of functions that are given to a solver, where wengert runs them again after the solver.

A function may keep a value, such as a matrix that it computes in its first call. The solver runs untraced, so that
value is a constant; the traced run must not read it. So each run begins with the state before the solver, and the state
afterwards is that which the solver leaves, with the traced values in place of the constants.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError, WengertWarning
from wengert.hooks.reachable_state import State
from wengert.hooks.search import run_watching_writes
from wengert.hooks.solver_callbacks import reaches_traced
from wengert.recording.recording import STATE, Recording
from wengert.recording.slots import slot_of
from wengert.values.callables import callable_name
from wengert.values.frames import warn
from wengert.values.trees import leaves

LARGEST_KEPT = 1 << 24
"""The most bytes of an array that is put back. Functions write larger ones as a whole, before they read them."""
SAME_WITHIN = 1e-5
"""The largest relative difference between a value that the solver leaves and the traced one that takes its place."""


class SolverEffects:
    """A context for `unseen` calls of functions that are among some things, and for traced ones.

    An untraced run changes nothing for those that follow. The state afterwards is that after the first run, with the
    traced values that later ones have stored in the places of constants.
    """

    def __init__(self, *things: Any) -> None:
        self.things, self.recording = things, STATE.recording
        self.before: State | None = None
        self.after: State | None = None
        self.overwrites = False

    def __enter__(self) -> SolverEffects:
        if self.recording is not None:
            self.outer, self.recording.solver_effects = self.recording.solver_effects, self
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        if self.recording is not None:
            self.recording.solver_effects = self.outer
            self._settle(self.recording)
            if kind is None:
                self._check(self.recording)

    def without(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function and put back what it changes; keep the state after the first run."""
        recording: Any = self.recording  # which is silenced
        if self.before is None:
            self.before = before = State(self.things, LARGEST_KEPT)
        else:  # a traced run may have changed it
            before = State(self.things, LARGEST_KEPT) if self.before.is_changed() else self.before
        try:
            return f(*args, **kwargs)
        finally:
            before.reach.empty_caches()
            if before.is_changed():
                written = [array for array, was in before.contents if array.tobytes() != was]
                self.overwrites |= any([slot_of(recording, array) is not None for array in written])
                self.after = self.after or State(self.things, LARGEST_KEPT)
                before.is_put_back()

    def begin_again(self) -> None:
        """Put back what traced runs have changed."""
        if self.recording is not None and self.before is not None:
            _watching_writes(self.recording, self.before, self.before.is_put_back)

    def refuse_written(self, solver: Any) -> None:
        """Refuse a solver that has written into a traced array. Errors: RefusedCallError."""
        if self.recording is not None and self.overwrites:
            raise self.recording.refuse(RefusedCallError(
                f"the solver {callable_name(solver)} writes into an array that the residual reads, and wengert does "
                "not trace solvers. Let it write into a copy: x = x.copy()."
            ))  # fmt: skip

    def _check(self, recording: Recording) -> None:
        """Refuse functions that keep values where these cannot be put back. Errors: RefusedCallError."""
        if self.before is not None and self.before.reach.is_final():
            raise recording.refuse(RefusedCallError(
                "a function that a solver calls uses a generator or a context variable, which keep values that wengert "
                "cannot put back. Keep them in a dictionary or an object, or compute them again in each call."
            ))  # fmt: skip

    def _settle(self, recording: Recording) -> None:
        """Leave the state after the first run, with the traced values of later ones; warn if these differ."""
        if self.after is not None:
            pairs = _watching_writes(recording, self.after, partial(self.after.put_back_but, reaches_traced))
            if not all([_are_near(*pair) for pair in pairs]):
                warn(
                    "a function that a solver calls stores values outside that depend on the inputs of the derivative. "
                    "Their derivatives may be missing or wrong: do not use them after the call, or store nothing",
                    WengertWarning,
                )


def _watching_writes(recording: Recording, state: State, put_back: Callable[[], Any]) -> Any:
    """Put back a state, with its arrays in the undo log if pullbacks read them."""
    arrays = tuple([array for array, _ in state.contents])
    return run_watching_writes(recording, lambda *_: put_back(), arrays, {})


def _are_near(now: Any, was: Any) -> bool:
    """Whether the numbers of a traced value are about those of the value in whose place it is."""
    numbers = [[leaf for _, leaf in leaves(part)] for part in (now, was)]
    return [*map(np.shape, numbers[0])] == [*map(np.shape, numbers[1])] and all([
        np.allclose(a, b, rtol=SAME_WITHIN, atol=SAME_WITHIN, equal_nan=True) for a, b in zip(*numbers, strict=True)
    ])  # fmt: skip
