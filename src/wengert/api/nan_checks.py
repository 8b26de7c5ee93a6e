"""`debug_nans`: a switch under which the line that makes a nan or an inf is an error."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from wengert.errors import NonFiniteError
from wengert.recording.nans import first_bad, watch
from wengert.recording.recording import STATE, Recording
from wengert.values.settings import SETTINGS


class debug_nans(ContextDecorator):
    """Raise an error, inside the `with` block and on this thread, where a derivative makes a nan or an inf.

    The error names the first call, or the first step back, that made one of finite values, its arguments, and the line.
    Numbers that are not finite in what the function is given (missing data) may be there: only where the result or the
    derivative is not finite on their account, an error says which argument they came from. It is a decorator, too.

    >>> with wg.debug_nans():
    ...     wg.grad(lambda x: np.sum(np.sqrt(x)))(np.array([1.0, 0.0]))
    Traceback (most recent call last):
    wengert.errors.NonFiniteError: ...: the pullback of np.sqrt(0.0) gave inf, at [1] of shape [2], of finite ...

    Errors: NonFiniteError, which is a FloatingPointError, too.
    """

    def __enter__(self) -> None:
        self.changed = SETTINGS.changed(debug_nans=True)
        self.changed.__enter__()
        if STATE.recording is not None:
            watch(STATE.recording)

    def __exit__(self, *error: object) -> None:
        self.changed.__exit__(None, None, None)


def check_given(recording: Recording, *found: Any) -> None:
    """Say what is not finite in a result, where no call made it: what the function was given."""
    if SETTINGS.debug_nans and recording.watch is not None and (bad := first_bad(found)) is not None:
        raise NonFiniteError(
            f"the result or the derivative is {bad.number}, and no call made that of finite values: "
            f"{recording.watch.given or 'the cotangent that it began with, or a constant, is not finite'}."
        )
