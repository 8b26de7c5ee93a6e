"""`debug_nans`: a context in which the first nan or inf raises an error that names its line."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from wengert.errors import NonFiniteError
from wengert.recording.nans import check_every_call, first_bad
from wengert.recording.recording import STATE, Recording
from wengert.values.settings import SETTINGS


class debug_nans(ContextDecorator):
    """Raise an error, inside the `with` block and on this thread, if a derivative makes a nan or an inf.

    The error names the first call, or the first step back, that made one of finite values, its arguments, and the line.
    The arguments may hold nan and inf (missing data): only if they make the result or the derivative not finite, an
    error names that argument. It is a decorator too.

    Raises:
        NonFiniteError: From the derivative. It is also a FloatingPointError.
    See Also:
        check_grads, post_mortem

    Examples:
        >>> with wg.debug_nans():
        ...     wg.grad(lambda x: np.sum(np.sqrt(x)))(np.array([1.0, 0.0]))
        Traceback (most recent call last):
        wengert.errors.NonFiniteError: ...: the pullback of np.sqrt(0.0) returned inf at [1] of shape [2] for finite ...
    """

    def __enter__(self) -> None:
        self.changed = SETTINGS.changed(debug_nans=True)
        self.changed.__enter__()
        if STATE.recording is not None:
            check_every_call(STATE.recording)

    def __exit__(self, *error: object) -> None:
        self.changed.__exit__(None, None, None)


def check_finite_result(recording: Recording, *found: Any) -> None:
    """Raise if a result is not finite although no call made it so: name the argument that was not finite."""
    if SETTINGS.debug_nans and recording.nan_checker is not None and (bad := first_bad(found)) is not None:
        raise NonFiniteError(
            f"the result or the derivative is {bad.number}, but no call made it from finite values: "
            f"{recording.nan_checker.given or 'the seed cotangent, or a constant, is not finite'}. Pass finite numbers."
        )
