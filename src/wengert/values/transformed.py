"""Functions made from others, such as `grad(f)`: called and bound like functions, and pickled by their recipe."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from wengert.errors import ArgumentError
from wengert.values.completion import hides
from wengert.values.names import imported

Recipe = tuple[Callable[..., Any], Any, dict[str, Any]]
"""The transformation, the function that it was applied to, and its options."""


@hides("by_recipe", "recipe")
class Remade:
    """A callable object that is bound like a function, and pickled by its name, or else by its recipe.

    It is an object because Python pickles functions by name only. A deep copy of one that is made from a bound method
    contains a copy of the method's object.
    """

    __slots__ = ()
    recipe: Recipe

    def __reduce__(self) -> str | tuple[Any, ...]:
        name = getattr(self, "__qualname__", "")
        return name if imported(self.__module__, name) is self else self.by_recipe()

    def by_recipe(self) -> tuple[Any, ...]:
        """Return the pickle of a callable that cannot be imported by name: its recipe."""
        return _remade, self.recipe

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        function: Any = getattr(self, "__func__", self)
        return self if obj is None or self._is_static() else types.MethodType(function, obj)

    def _is_static(self) -> bool:
        """Whether it was made from a static method, which is not bound."""
        f = self.recipe[1]
        return f._is_static() if isinstance(f, Remade) else isinstance(f, staticmethod)

    def __repr__(self) -> str:
        make, f, _ = self.recipe
        return f"<wg.{make.__name__} of {getattr(f, '__qualname__', repr(f))}>"


def _remade(make: Callable[..., Any], f: Any, options: dict[str, Any]) -> Any:
    return make(f, **options)


class Transformed(Remade):
    """The result of `grad(f)` and the like. `__func__` is a function of this package, which traced code calls."""

    __slots__ = ("__dict__", "__func__", "__weakref__", "recipe")

    def __init__(self, function: Any, recipe: Recipe) -> None:
        self.__func__, self.recipe = function, recipe
        functools.update_wrapper(self, recipe[1])

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.__func__(*args, **kwargs)


def check_function(make: Callable[..., Any], f: Any, form: str = "(f)(x) or {}(lambda x: ...)(x)") -> None:
    """Raise ArgumentError if `f` is not callable, as in `grad(f(x))`; `form` is a right call, behind the name."""
    if not callable(f):
        name = make.__name__
        raise ArgumentError(
            f"{name} needs a function, not its value: a {type(f).__name__} cannot be called. Write {name}"
            f"{form.format(name)}."
        )


def transforms(make: Callable[..., Any], f: Any, **options: Any) -> Callable[[Callable[..., Any]], Transformed]:
    """Return a decorator that makes a function the Transformed of `make(f, **options)`.

    Errors: ArgumentError if `f` is not callable.
    """
    check_function(make, f)

    def finish(function: Any) -> Transformed:
        return Transformed(functools.wraps(f)(function), (make, f, options))

    return finish
