"""Densities and probabilities of SciPy's distributions, without masks if all arguments lie in the support.

If one lies outside, SciPy's own code runs.
"""

from __future__ import annotations

import types

import numpy as np
from scipy import stats

from wengert.extend import computes_nothing, stands_for
from wengert_rules.scipy.optional import present

SCIPYS = ("scipy.stats._continuous_distns", "scipy.stats._discrete_distns")

# A frozen distribution is made with its docstring and signatures, which take half of the time.
_WRITERS = [vars(stats.rv_continuous.__base__).get(name) for name in ("_construct_doc", "_construct_default_doc")]
computes_nothing(*[f for f in _WRITERS if f is not None], *present("_lib._util.getfullargspec_no_self"))


def scipys(owner, method):
    """Copy a method of SciPy: no stand-in runs for the copy."""
    f = vars(owner)[method]
    made = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    made.__module__, made.__qualname__, made.__kwdefaults__ = f.__module__, f.__qualname__, f.__kwdefaults__
    return made


def number_or_array(a):
    """Return an argument as an array, as SciPy does, but a float as a number, which computes the same."""
    return np.float64(a) if isinstance(a, float) else np.asarray(a)


def flat(a, shape):
    """Return an argument as a vector, which the methods of distributions take."""
    return np.ravel(a if np.shape(a) == shape else np.broadcast_to(a, shape))


def of_all(method, arguments, shape):
    """Call a method on all arguments; most methods of SciPy's own distributions take numbers, too."""
    if shape == ():
        try:
            found = method(*arguments)
            return found[()] if isinstance(found, np.ndarray) else found
        except (TypeError, IndexError):
            return method(*[np.reshape(a, (1,)) for a in arguments])[0]
    found = method(*[flat(a, shape) for a in arguments])
    return np.reshape(found, shape) if len(shape) > 1 else found


def of_continuous(method, is_open=False, finish=lambda found, scale: found):
    """Let a stand-in run for a method of continuous distributions, by its counterpart of standard ones."""
    beyond = scipys(stats.rv_continuous, method)

    @stands_for(vars(stats.rv_continuous)[method])
    def within(self, x, *args, **kwds):
        if type(self).__module__ not in SCIPYS:
            return beyond(self, x, *args, **kwds)
        shapes, loc, scale = self._parse_args(*args, **kwds)
        shapes, loc, scale = tuple(map(number_or_array, shapes)), number_or_array(loc), number_or_array(scale)
        z = (number_or_array(x) - loc) / scale
        support = self._open_support_mask if is_open else self._support_mask
        shape = np.broadcast_shapes(*map(np.shape, (z, *shapes)))
        inside = np.all(self._argcheck(*shapes)) and np.all(scale > 0) and np.all(support(z, *shapes))
        if z.dtype != np.float64 or 0 in shape or not inside:
            return beyond(self, x, *args, **kwds)
        return finish(of_all(getattr(self, f"_{method}"), (z, *shapes), shape), scale)


of_continuous("pdf", finish=lambda found, scale: found / scale)
of_continuous("logpdf", finish=lambda found, scale: found - np.log(scale))
for _method in ("cdf", "logcdf", "sf", "logsf"):
    of_continuous(_method, is_open=True)


def of_discrete(method, finish=lambda found: found):
    """Let a stand-in run for a method of discrete distributions."""
    beyond = scipys(stats.rv_discrete, method)

    @stands_for(vars(stats.rv_discrete)[method])
    def within(self, k, *args, **kwds):
        if type(self).__module__ not in SCIPYS:
            return beyond(self, k, *args, **kwds)
        shapes, loc, _ = self._parse_args(*args, **kwds)
        shapes, n = tuple(map(number_or_array, shapes)), number_or_array(k) - number_or_array(loc)
        first, last = self._get_support(*shapes)
        shape = np.broadcast_shapes(*map(np.shape, (n, *shapes)))
        inside = np.all(self._argcheck(*shapes)) and np.all((n >= first) & (n <= last) & self._nonzero(n, *shapes))
        if 0 in shape or not inside:
            return beyond(self, k, *args, **kwds)
        return finish(of_all(getattr(self, f"_{method}"), (n, *shapes), shape))


of_discrete("pmf", lambda found: np.clip(found, 0, 1))
of_discrete("logpmf")
