"""Every error that wengert raises: what happened, at which line of the user's code, and what to do next."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "AliasedArgumentsError",
    "ArgumentError",
    "BytecodeError",
    "CacheWarning",
    "DensePatternWarning",
    "DuplicateRuleError",
    "GradientCheckError",
    "IntegerInputError",
    "NativeUnavailableError",
    "NoBatchingRuleWarning",
    "NoDerivativeError",
    "NoGradientPathError",
    "NoPathWarning",
    "NoRuleError",
    "NonFiniteError",
    "NonScalarOutputError",
    "NotCompiledError",
    "NotCompiledWarning",
    "NotConvergedWarning",
    "OutOfRangeError",
    "PluginWarning",
    "RecomputationError",
    "RefusedCallError",
    "RuleError",
    "StaleTapeError",
    "TapeError",
    "TensorLanguageError",
    "WengertError",
    "WengertWarning",
]  # fmt: skip


class WengertError(Exception):
    """Base of all errors of this package.

    Catch it to catch every error of this package and none of your own.
    """


class NoRuleError(WengertError, NotImplementedError):
    """A traced value reached a call that has no rule; the message holds a stub to paste.

    Declare the rule, or pass `stop_gradient(x)` if the derivative is zero on purpose.
    """


class RefusedCallError(WengertError, TypeError):
    """A traced value reached code that cannot be traced; going on could return a wrong gradient silently.

    Write the line as the message says, or give the function a rule.
    """


class EscapedFrameError(RefusedCallError):
    """C code called a Python function with a traced value, and it ran untraced (found on Python 3.12 and later).

    Call the function from Python, or give the compiled function a rule.
    """


class ArgumentError(WengertError, TypeError, ValueError):
    """A function of this package was called with wrong arguments; the message shows the right call.

    Write the call as the message shows.
    """


class NonScalarOutputError(WengertError, TypeError):
    """The function's result is not a scalar, and there is no seed.

    Sum or average the result, or use `jacobian` or `vjp`.
    """


class IntegerInputError(WengertError, TypeError):
    """An argument to differentiate holds integers.

    Pass floats, for example `x.astype(float)`, or name other arguments in `argnums`.
    """


class NoGradientPathError(WengertError, ValueError):
    """The result is of a kind (int, bool, str, None) that has no derivative.

    Return the float from which the result is computed. The cause is often a missing `return`.
    """


class NoDerivativeError(WengertError, ValueError):
    """A function has no derivative at these values; `site` is the line that called it.

    Use a part of the result that has a derivative, or move off the point.
    """

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
    """A tape was replayed on inputs for which the function would have run differently.

    Trace the function again. `compile` does that by itself.
    """


class NotCompiledError(WengertError, RuntimeError):
    """A function compiled with `strict` cannot be: wengert cannot track what it reads, or it has side effects.

    Remove the side effect, or leave `strict` out to run uncompiled.
    """


class NonFiniteError(WengertError, FloatingPointError):
    """Under `wg.debug_nans`, a call or a step back made a nan or an inf from finite values, or an argument had one.

    Move off the point, rewrite the formula (`np.log1p`, `np.logaddexp`), or mask a nan in the data.
    """


class RecomputationError(WengertError, RuntimeError):
    """A function did something else when it ran again, under `wg.checkpoint` or for a sparse Jacobian.

    Pass random numbers, the clock and counters as arguments.
    """


class AliasedArgumentsError(WengertError, ValueError):
    """The function writes into memory that two arguments share: the derivative by one of them is not defined.

    Pass a copy of one: `f(a, a.copy())`.
    """


class GradientCheckError(WengertError, AssertionError):
    """A derivative disagrees with finite differences, or a rule breaks its contract.

    Compare the two numbers in the message; correct the rule, or raise the tolerances near a kink.
    """


class DuplicateRuleError(WengertError, ValueError):
    """A second rule was declared for a primitive.

    Remove the first rule with `wg.rules.remove(f)`.
    """


class RuleError(WengertError, TypeError):
    """A rule is badly declared or returned something that does not fit its primitive.

    Return one cotangent for each positional argument, and None for one without a derivative.
    """


class TapeError(WengertError, ValueError):
    """An edit or check of a tape found a dangling or misplaced reference.

    Replace the readers of an op before you delete it; `verify` checks a tape.
    """


class BytecodeError(WengertError, NotImplementedError):
    """A function's bytecode holds an instruction that this version of wengert does not know.

    Update wengert, or use a Python version that it supports.
    """


class TensorLanguageError(WengertError, TypeError):
    """A function for `wengert.tensor` has a construct that the tensor language does not support.

    Rewrite the construct, or remove the decorator: `grad` differentiates ordinary Python.
    """


class OutOfRangeError(TensorLanguageError, IndexError):
    """An access in a function for `wengert.tensor` may leave its array.

    Make the range shorter, or add a condition on the index.
    """


class NativeUnavailableError(WengertError, ImportError):
    """Compiled loops were requested, but there is no compiler.

    Install numba (`pip install wengert[native]`), or leave the option out.
    """


class NotNativeError(WengertError, NotImplementedError):
    """A call has no native code in a compiled function, which therefore runs uncompiled.

    The message is the reason.
    """


class WengertWarning(UserWarning):
    """The base class of all warnings of this package; each is issued at a line of the user's code.

    Filter by this class to silence the warnings of this package only.
    """


class CacheWarning(WengertWarning):
    """A traced value equals one kept from before the derivative began: a cached result for it is a constant.

    Clear the cache before the gradient. If your code caches nothing there, ignore the warning.
    """


class NoPathWarning(WengertWarning):
    """A result depends on no argument that it is differentiated by: the derivative is zero. Names the last line.

    If zero is what you mean, pass `stop_gradient(x)`.
    """


class DensePatternWarning(WengertWarning):
    """A sparse Jacobian takes about as many passes as a dense one: the pattern of a call is not known.

    Pass the `pattern` if you know it, else use `jacobian`.
    """


class NotCompiledWarning(WengertWarning):
    """A function runs uncompiled from now on: wengert cannot track what it reads, or it has side effects.

    Make what the message names an argument, or move it out of the function.
    """


class NoBatchingRuleWarning(WengertWarning):
    """A function is called on the examples of a batch one by one: no batching rule, or different branches.

    Use `np.where` instead of `if`, or declare a rule with `wg.extend.batching`. The steps of a differential equation
    are such a batch for its right-hand side: let that change nothing outside.
    """


class NotConvergedWarning(WengertWarning):
    """A solver's result does not solve its equation, or an integral did not converge: the derivative is inaccurate.

    Give the solver a smaller tolerance or more iterations.
    """


class PluginWarning(WengertWarning):
    """The rules of another distribution could not be loaded, and are left out.

    Update or uninstall that package, or set the environment variable `WENGERT_SKIP_RULES` to its name.
    """
