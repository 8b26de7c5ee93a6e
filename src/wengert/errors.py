"""Every error that wengert raises: what happened, at which line of the user's code, and what to do next."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "AliasedArgumentsError", "ArgumentError", "BytecodeError", "CacheWarning", "DensePatternWarning",
    "DuplicateRuleError", "EagerWarning",
    "GradientCheckError", "IntegerInputError", "NativeUnavailableError", "NoBatchingRuleWarning", "NoDerivativeError",
    "NoGradientPathError", "NoPathWarning", "NoRuleError", "NonFiniteError", "NonScalarOutputError",
    "NotCompiledError", "NotConvergedWarning", "OutOfRangeError", "PluginWarning", "RecomputationError",
    "RefusedCallError", "RuleError", "StaleTapeError", "TapeError", "TensorLanguageError", "WengertError",
    "WengertWarning",
]  # fmt: skip


class WengertError(Exception):
    """Base of all errors of this package."""


class NoRuleError(WengertError, NotImplementedError):
    """A traced value reached a call that has no rule; the message holds a stub to paste."""


class RefusedCallError(WengertError, TypeError):
    """A traced value reached code that cannot be traced; going on could return a wrong gradient silently."""


class EscapedFrameError(RefusedCallError):
    """C code called a Python function with a traced value, and it ran untraced (found on Python 3.12 and later)."""


class ArgumentError(WengertError, TypeError):
    """A function of this package was called with wrong arguments; the message shows the right call."""


class NonScalarOutputError(WengertError, TypeError):
    """The function's result is not a scalar, and there is no seed."""


class IntegerInputError(WengertError, TypeError):
    """An argument to differentiate holds integers."""


class NoGradientPathError(WengertError, ValueError):
    """The result is of a kind (int, bool, str, None) that has no derivative."""


class NoDerivativeError(WengertError, ValueError):
    """A function has no derivative at these values; `site` is the line that called it."""

    site: Any = None

    def __str__(self) -> str:
        return f"{self.site}: {super().__str__()}" if self.site else super().__str__()


def of_rule(error: Exception, site: Any = None) -> Exception:
    """Return the error that a rule raised; a LinAlgError as a NoDerivativeError, which has the user's line."""
    if isinstance(error, np.linalg.LinAlgError):
        error = NoDerivativeError(f"wengert cannot compute the derivative at these values: {error}")
    if isinstance(error, NoDerivativeError):
        error.site = error.site or site
    return error


class StaleTapeError(WengertError, RuntimeError):
    """A tape was replayed on inputs for which the function would have run differently."""


class NotCompiledError(WengertError, RuntimeError):
    """A function compiled with `strict` cannot be: wengert cannot track what it reads, or it has side effects."""


class NonFiniteError(WengertError, FloatingPointError):
    """Under `wg.debug_nans`, a call or a step back made a nan or an inf from finite values, or an argument had one."""


class RecomputationError(WengertError, RuntimeError):
    """A function did something else when it ran again, under `wg.checkpoint` or for a sparse Jacobian."""


class AliasedArgumentsError(WengertError, ValueError):
    """The function writes into memory that two arguments share: the derivative by one of them is not defined."""


class GradientCheckError(WengertError, AssertionError):
    """A derivative disagrees with finite differences, or a rule breaks its contract."""


class DuplicateRuleError(WengertError, ValueError):
    """A second rule was declared for a primitive."""


class RuleError(WengertError, TypeError):
    """A rule is badly declared or returned something that does not fit its primitive."""


class TapeError(WengertError, ValueError):
    """An edit or check of a tape found a dangling or misplaced reference."""


class BytecodeError(WengertError, NotImplementedError):
    """A function's bytecode holds an instruction that this version of wengert does not know."""


class TensorLanguageError(WengertError, TypeError):
    """A function for `wengert.tensor` has a construct that the tensor language does not support."""


class OutOfRangeError(TensorLanguageError, IndexError):
    """An access in a function for `wengert.tensor` may leave its array."""


class NativeUnavailableError(WengertError, ImportError):
    """Compiled loops were requested, but there is no compiler."""


class WengertWarning(UserWarning):
    """The base class of all warnings of this package; each is issued at a line of the user's code."""


class CacheWarning(WengertWarning):
    """A traced value equals one kept from before the derivative began: a cached result for it is a constant."""


class NoPathWarning(WengertWarning):
    """A result depends on no argument that it is differentiated by: the derivative is zero. Names the last line."""


class DensePatternWarning(WengertWarning):
    """A sparse Jacobian takes about as many passes as a dense one: the pattern of a call is not known."""


class EagerWarning(WengertWarning):
    """A function runs uncompiled from now on: wengert cannot track what it reads, or it has side effects."""


class NoBatchingRuleWarning(WengertWarning):
    """A function is called on the examples of a batch one by one: no batching rule, or different branches."""


class NotConvergedWarning(WengertWarning):
    """A solver's result does not solve its equation, or an integral did not converge: the derivative is inaccurate."""


class PluginWarning(WengertWarning):
    """The rules of another distribution could not be loaded, and are left out."""
