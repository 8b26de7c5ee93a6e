"""Declarations of how a primitive is called on many examples at once, along a leading axis.

A batching rule is looked up by the callable, as a rule is; `batched` calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from wengert.rulebook.registry import Registry, rules

ENTERED = "Batching rules ask about their batch, also where a derivative watches."

__all__ = ["Batch", "batching"]

F = TypeVar("F", bound=Callable[..., Any])


class Batch(NamedTuple):
    """The call that a batching rule handles: the function `fn` and the number of examples, `size`.

    Parameters:
        fn (callable): The function.
        size (int): The number of examples.
        axes (tuple): For each argument, whether it has a leading axis of examples; for a sequence, a tuple of these.
        named (tuple[str, ...]): The keyword arguments that have one.
        strides (tuple[int, ...] | None): The strides of one example of the first argument, if `fn` reads memory layout;
            None means the strides that it has in the batch.
    See Also:
        batching, vmap

    Examples:
        >>> batch = wg.extend.Batch(np.sum, 8, (True,))
        >>> batch.first
        True
    """

    fn: Callable[..., Any]
    size: int
    axes: tuple[Any, ...]
    named: tuple[str, ...] = ()
    strides: tuple[int, ...] | None = None

    @property
    def first(self) -> bool:
        """Whether the first argument has the axis of examples, and no other argument has it."""
        return bool(self.axes) and self.axes[0] is True and not any(self.axes[1:]) and not self.named


def batching(*targets: Any, registry: Registry = rules) -> Callable[[F], F]:
    """Declare how functions are called on a batch, by decorating a function `(batch, *args, **kwargs) -> value`.

    The arguments that `batch`, a `Batch`, flags have a leading axis of `batch.size` examples, and so has the value: at
    each index it is the result of `batch.fn` for that example. Return NotImplemented to have `batch.fn` called once per
    example.

    Parameters:
        *targets (callable): The functions. `np.ufunc` means every elementwise ufunc, and a method such as
            `np.ufunc.reduce` means that method of every ufunc.
        registry (Registry): The table of rules to add the batching rule to.
    Returns:
        callable: A decorator for the batching rule.
    See Also:
        Batch, vmap

    Examples:
        >>> def norm2(x):
        ...     return np.sum(x * x)
        >>> @wg.extend.batching(norm2)
        ... def batched_norm2(batch, x):
        ...     return np.einsum("bi,bi->b", x, x)
    """

    def declare(function: F) -> F:
        registry.batch(targets, function)
        return function

    return declare
