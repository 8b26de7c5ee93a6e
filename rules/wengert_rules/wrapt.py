"""Wrappers of wrapt, which are written in C: the functions around which they stand, and their wrappers, are followed.

They enter `wrapt.decorator` and so packages that use it, such as `deprecated`. Where wrapt runs in plain Python there
is nothing to do.
"""

from __future__ import annotations

import gc
import types

import wrapt

from wengert.extend import computes_nothing, stands_for

_FUNCTION, _BOUND = wrapt.FunctionWrapper.__call__, wrapt.BoundFunctionWrapper.__call__
_PARTIAL, _PROXY = wrapt.PartialCallableObjectProxy.__call__, wrapt.CallableObjectProxy.__call__


def of_function(wrapper, /, *args, **kwargs):
    wrapped, instance = wrapper.__wrapped__, wrapper._self_instance
    if not _is_enabled(wrapper):
        return wrapped(*args, **kwargs)
    if instance is None and wrapper._self_binding in ("function", "instancemethod", "classmethod", "callable"):
        instance = getattr(wrapped, "__self__", None)
    return wrapper._self_wrapper(wrapped, instance, args, kwargs)


def of_bound(wrapper, /, *args, **kwargs):
    wrapped, instance = wrapper.__wrapped__, wrapper._self_instance
    if not _is_enabled(wrapper):
        return wrapped(*args, **kwargs)
    if wrapper._self_binding not in ("function", "instancemethod", "callable"):
        instance = getattr(wrapped, "__self__", None)
    elif instance is None and args and isinstance(args[0], wrapper._self_owner):
        instance, *rest = args
        wrapped, args = wrapt.PartialCallableObjectProxy(wrapped, instance), tuple(rest)
    return wrapper._self_wrapper(wrapped, instance, args, kwargs)


def of_partial(proxy, /, *args, **kwargs):
    held = gc.get_referents(proxy)  # no attribute shows them
    first = [type(part) is tuple for part in held].index(True)
    words = held[first + 1] if len(held) > first + 1 else {}
    return proxy.__wrapped__(*held[first], *args, **{**words, **kwargs})


def of_proxy(proxy, /, *args, **kwargs):
    return proxy.__wrapped__(*args, **kwargs)


def _is_enabled(wrapper):
    enabled = wrapper._self_enabled
    return enabled is None or bool(enabled() if callable(enabled) else enabled)


for target, standin in ((_FUNCTION, of_function), (_BOUND, of_bound), (_PARTIAL, of_partial), (_PROXY, of_proxy)):
    if type(target) is types.WrapperDescriptorType:
        stands_for(target)(standin)
if type(_FUNCTION) is types.WrapperDescriptorType:
    made = wrapt.FunctionWrapper.__new__, wrapt.PartialCallableObjectProxy.__new__
    computes_nothing(*made, wrapt.FunctionWrapper.__get__, gc.get_referents)
