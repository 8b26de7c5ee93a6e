"""The hooks that rewritten code calls."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HOOK_NAMES = words(
    "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift "
    "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift "
    "neg pos invert not_ lt le eq ne gt ge contains not_contains is_ is_not truth "
    "getitem setitem delitem getattr setattr delattr super_getattr importing "
    "resolve iterable mapping convert format join interpolation "
    "context match_class caught build_set build_map added added_all match_keys made touched"
)
"""Signatures. All arguments are positional, and the Site comes last:

- binary, in-place, comparison: hook(right, left); contains, not_contains: hook(container, item) -> exact bool
- is_, is_not: hook(right, left) -> exact bool; not called if the right side is a literal None, True, False or ...
- neg pos invert not_: hook(a); truth, not_: an exact bool
- getitem, delitem: hook(key, container); setitem: hook(container, key, value). A slice is passed as a `slice`.
- getattr, delattr: hook(obj, name); setattr: hook(obj, value, name)
- super_getattr: hook(class, self, super, name, has arguments), from 3.12; "has arguments" is for a user-defined `super`
- importing: hook(name) -> nothing, before the module of this name is imported
- resolve: hook(callable) -> the callable to call, just before the call
- iterable, mapping, context: hook(obj) -> the object that the native instruction then uses
- build_set: hook(tuple of items); build_map: hook(tuple of alternating keys and values) -> the set or dictionary
- added: hook(key) -> the key, which a comprehension adds to a set or dictionary
- added_all: hook(iterable) -> the iterable whose items are added to a set
- made: hook(function) -> the function, which was just created with a twin as its code
- touched: hook(value) -> the value, on which the interpreter may now call special methods
- caught: hook(exception), at the start of a handler
- match_keys: hook(keys, subject), before a pattern looks up the keys in a mapping
- match_class: hook(class, names, subject, count) -> the tuple that the pattern binds, or None
- convert: hook(value, how), how 1 str, 2 repr, 3 ascii; format: hook(value, spec); join: hook(tuple of parts)
- interpolation, from 3.14: hook(expression, spec, value, how), how 0 none, 1 str, 2 repr, 3 ascii
"""
