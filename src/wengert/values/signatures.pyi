"""Signatures, for type checkers, of functions whose result type depends on their arguments.

The overloads give the result type for each form of call. Parameters and docstrings are those of the functions.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, Self, TypeVar, overload

import numpy as np

from wengert.values.check_errors import LargestError
from wengert.values.gradients import Gradients

P = ParamSpec("P")
Q = ParamSpec("Q")
X = TypeVar("X")
R = TypeVar("R")
A = TypeVar("A")
F = TypeVar("F", bound=Callable[..., Any])
Result = TypeVar("Result", covariant=True)
Arrays = TypeVar("Arrays", bound=np.ndarray[Any, Any])
Argnums = int | str | Sequence[int | str] | None
Several = tuple[int | str, ...] | list[int] | list[str]

class Made(Protocol):
    """A transformed function: named and bound like the original (mypy does not distinguish static methods)."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __get__(self, obj: None, cls: Any = None, /) -> Self: ...
    @overload
    def __get__(self, obj: Any, cls: Any = None, /) -> Callable[..., Any]: ...

class Function(Made, Protocol[P, Result]):
    """A function with f's parameters."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...

class LikeItsArgument(Made, Protocol[P]):
    """A function whose result has the type of its first argument, as that of a gradient."""

    @overload
    def __call__(self: LikeItsArgument[Concatenate[X, Q]], x: X, /, *args: Q.args, **kwargs: Q.kwargs) -> X: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...

class WithItsValue(Made, Protocol[P, Result]):
    """A function that returns f's value, and a second result of the type of its first argument."""

    @overload
    def __call__(
        self: WithItsValue[Concatenate[X, Q], R], x: X, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[R, X]: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Result, Any]: ...

class Gradient(LikeItsArgument[P], metaclass=ABCMeta):
    """A gradient: a function with f's parameters whose result has the type of the first."""

class ValueAndGradient(WithItsValue[P, Result], metaclass=ABCMeta):
    """A function with f's parameters that returns f's value and its gradient, of the type of the first argument."""

class Mapped(Made, Protocol[P, Result]):
    """`vmap(f)`: if f maps arrays to arrays, a function with f's parameters; else of anything."""

    @overload
    def __call__(self: Mapped[Q, Arrays], *args: Q.args, **kwargs: Q.kwargs) -> Arrays: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Traces(Protocol):
    """An object that describes its traces."""

    def explain(self) -> str: ...
    def source(self) -> str: ...
    def clear(self) -> None: ...

class Compiled(Function[P, Result], Traces, Protocol):
    """A compiled function, with f's parameters and result."""

    @overload
    def __get__(self, obj: None, cls: Any = None, /) -> Self: ...
    @overload
    def __get__(self: Compiled[Concatenate[X, Q], R], obj: X, cls: Any = None, /) -> Callable[Q, R]: ...
    @overload
    def __get__(self, obj: Any, cls: Any = None, /) -> Callable[..., Any]: ...

class CompiledGradient(Gradient[P], Traces, metaclass=ABCMeta):
    """A compiled gradient, which keeps the names of its parameters."""

class CompiledValueAndGradient(ValueAndGradient[P, Result], Traces, metaclass=ABCMeta):
    """A compiled value and gradient, likewise."""

class Custom(Function[P, Result], Protocol):
    """A function with decorators that declare its derivative."""

    def vjp_rule(self, function: F) -> F: ...
    def jvp_rule(self, function: F) -> F: ...

class Sparse(Function[P, Any], Protocol):
    """A function with f's parameters that returns a sparse matrix; `passes` counts those of the last call."""

    passes: int | None

class Grad(Protocol):
    """`grad`."""

    @overload
    def __call__(
        self, f: Callable[P, Any], *, argnums: Literal[0] | None = None, has_aux: Literal[False] = False,
        holomorphic: bool = False, allow_int: bool = False,
    ) -> Gradient[P]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: Callable[P, Any], *, argnums: Several, has_aux: Literal[False] = False, holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Function[P, tuple[Any, ...]]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: Callable[P, tuple[Any, A]], *, argnums: Argnums = None, has_aux: Literal[True],
        holomorphic: bool = False, allow_int: bool = False,
    ) -> Function[P, tuple[Any, A]]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: Callable[P, Any], *, argnums: Argnums = None, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Function[P, Any]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: Callable[..., R], x: Any, /, *args: Any, argnums: Argnums = None, has_aux: bool = False,
        holomorphic: bool = False, allow_int: bool = False, seed: Any = None, **kwargs: Any,
    ) -> tuple[R, Gradients]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: None = None, *, argnums: Argnums = None, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...  # fmt: skip

class ValueAndGrad(Protocol):
    """`value_and_grad`."""

    @overload
    def __call__(
        self, f: Callable[P, R], argnums: Literal[0] = 0, has_aux: Literal[False] = False, holomorphic: bool = False,
        allow_int: bool = False,
    ) -> ValueAndGradient[P, R]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: Callable[P, R], argnums: Several, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Function[P, tuple[R, tuple[Any, ...]]]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: Callable[P, R], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Function[P, tuple[R, Any]]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Callable[[Callable[P, R]], Callable[P, tuple[R, Any]]]: ...  # fmt: skip

class Jacobian(Protocol):
    """`jacobian`, `jacrev`, `jacfwd` and `hessian`."""

    @overload
    def __call__(
        self, f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False, as_matrix: bool = False,
    ) -> Function[P, Any]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False, as_matrix: bool = False,
    ) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...  # fmt: skip

class ValueAndJacobian(Protocol):
    """`value_and_jacobian`."""

    @overload
    def __call__(
        self, f: Callable[P, R], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False, as_matrix: bool = False,
    ) -> Function[P, tuple[R, Any]]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False, as_matrix: bool = False,
    ) -> Callable[[Callable[P, R]], Callable[P, tuple[R, Any]]]: ...  # fmt: skip

class ElementwiseGrad(Protocol):
    """`elementwise_grad`."""

    @overload
    def __call__(
        self, f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Function[P, Any]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: None = None, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False,
        allow_int: bool = False,
    ) -> Callable[[Callable[P, Any]], Callable[P, Any]]: ...  # fmt: skip

class SparseJacobian(Protocol):
    """`sparse_jacobian` and `sparse_hessian`."""

    @overload
    def __call__(
        self, f: Callable[P, Any], argnums: int | str = 0, pattern: Any = None, quiet: bool = False
    ) -> Sparse[P]: ...
    @overload
    def __call__(
        self, f: None = None, argnums: int | str = 0, pattern: Any = None, quiet: bool = False
    ) -> Callable[[Callable[P, Any]], Sparse[P]]: ...

class ProductWithHessian(Protocol):
    """`hvp` and `vhp`."""

    @overload
    def __call__(
        self, f: Callable[..., Any], *, has_aux: Literal[False] = False, holomorphic: bool = False
    ) -> HessianProduct: ...
    @overload
    def __call__(
        self, f: Callable[..., tuple[Any, A]], *, has_aux: Literal[True], holomorphic: bool = False
    ) -> HessianProductWithAux[A]: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], primals: X, tangents: Any, *, has_aux: Literal[False] = False,
        holomorphic: bool = False,
    ) -> X: ...  # fmt: skip
    @overload
    def __call__(
        self, f: Callable[..., tuple[Any, A]], primals: X, tangents: Any, *, has_aux: Literal[True],
        holomorphic: bool = False,
    ) -> tuple[X, A]: ...  # fmt: skip

class HessianProduct(Made, Protocol):
    """`hvp(f)` and `vhp(f)`."""

    def __call__(self, primals: X, tangents: Any, /, *args: Any, **kwargs: Any) -> X: ...

class HessianProductWithAux(Made, Protocol[Result]):
    """`hvp(f, has_aux=True)` and `vhp(f, has_aux=True)`."""

    def __call__(self, primals: X, tangents: Any, /, *args: Any, **kwargs: Any) -> tuple[X, Result]: ...

class Vmap(Protocol):
    """`vmap`."""

    def __call__(self, f: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Mapped[P, R]: ...

class CheckGrads(Protocol):
    """`check_grads`."""

    @overload
    def __call__(
        self, f: Callable[P, Any], *, gradient: Callable[..., tuple[Any, ...]] | None = None, rtol: float | None = None,
        atol: float | None = None, order: int = 1, modes: str | Sequence[str] = ("rev",), quiet: bool = False,
    ) -> Callable[P, LargestError]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: Callable[..., Any], x: Any, /, *args: Any, gradient: Callable[..., tuple[Any, ...]] | None = None,
        rtol: float | None = None, atol: float | None = None, order: int = 1, modes: str | Sequence[str] = ("rev",),
        quiet: bool = False, **kwargs: Any,
    ) -> LargestError: ...  # fmt: skip

class Implicit(Protocol):
    """`implicit`."""

    @overload
    def __call__(
        self, residual: Callable[..., Any], solution: None = None, *, jacobian: Callable[..., Any] | None = None
    ) -> Callable[[F], F]: ...
    @overload
    def __call__(
        self, residual: Callable[..., Any], solution: Callable[..., R], *args: Any,
        jacobian: Callable[..., Any] | None = None,
    ) -> R: ...  # fmt: skip
    @overload
    def __call__(
        self, residual: Callable[..., Any], solution: X, *args: Any, jacobian: Callable[..., Any] | None = None
    ) -> X: ...

class CustomOf(Protocol):
    """`custom_derivative`."""

    def __call__(self, f: Callable[P, R], registry: Any = ...) -> Custom[P, R]: ...

class DeclareRule(Protocol):
    """`rrule`."""

    @overload
    def __call__(self, f: Callable[..., Any], *, registry: Any = ...) -> Callable[[F], F]: ...
    @overload
    def __call__(
        self, f: Callable[..., R], *args: Any, registry: Any = ..., **kwargs: Any
    ) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...

class NonDifferentiable(Protocol):
    """`non_differentiable`."""

    @overload
    def __call__(self, target: F, /, *, registry: Any = ...) -> F: ...
    @overload
    def __call__(self, *targets: Callable[..., Any], registry: Any = ...) -> Callable[[F], F]: ...

class DerivativeOf(Protocol):
    """`derivative`."""

    @overload
    def __call__(
        self, f: Callable[P, R], order: int = 1, argnums: int | str = 0, has_aux: bool = False,
        holomorphic: bool = False,
    ) -> Function[P, R]: ...  # fmt: skip
    @overload
    def __call__(
        self, f: None = None, order: int = 1, argnums: int | str = 0, has_aux: bool = False, holomorphic: bool = False
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...

class Vjp(Protocol):
    """`vjp`."""

    @overload
    def __call__(
        self, f: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
    ) -> tuple[R, Callable[[Any], tuple[Any, ...]]]: ...
    @overload
    def __call__(
        self, f: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True]
    ) -> tuple[R, Callable[[Any], tuple[Any, ...]], A]: ...

class Jvp(Protocol):
    """`jvp`."""

    @overload
    def __call__(
        self, f: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: Literal[False] = False
    ) -> tuple[R, R]: ...
    @overload
    def __call__(
        self, f: Callable[..., tuple[R, A]], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: Literal[True]
    ) -> tuple[R, R, A]: ...

class Linearize(Protocol):
    """`linearize`."""

    @overload
    def __call__(
        self, f: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
    ) -> tuple[R, Callable[..., R]]: ...
    @overload
    def __call__(
        self, f: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True]
    ) -> tuple[R, Callable[..., R], A]: ...

class Compile(Protocol):
    """`compile`."""

    @overload
    def __call__(
        self, g: Gradient[P], *, exact: bool = False, strict: bool = False, native: bool | None = None,
        quiet: bool = False, parallel: bool = False,
    ) -> CompiledGradient[P]: ...  # fmt: skip
    @overload
    def __call__(
        self, g: ValueAndGradient[P, R], *, exact: bool = False, strict: bool = False, native: bool | None = None,
        quiet: bool = False, parallel: bool = False,
    ) -> CompiledValueAndGradient[P, R]: ...  # fmt: skip
    @overload
    def __call__(
        self, g: Callable[P, R], *, exact: bool = False, strict: bool = False, native: bool | None = None,
        quiet: bool = False, parallel: bool = False,
    ) -> Compiled[P, R]: ...  # fmt: skip
    @overload
    def __call__(
        self, g: None = None, *, exact: bool = False, strict: bool = False, native: bool | None = None,
        quiet: bool = False, parallel: bool = False,
    ) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...  # fmt: skip

Typed = Callable[[Callable[..., Any]], X]
grad: Typed[Grad]
value_and_grad: Typed[ValueAndGrad]
jacobian: Typed[Jacobian]
value_and_jacobian: Typed[ValueAndJacobian]
elementwise_grad: Typed[ElementwiseGrad]
derivative: Typed[DerivativeOf]
vjp: Typed[Vjp]
jvp: Typed[Jvp]
linearize: Typed[Linearize]
compile: Typed[Compile]
vmap: Typed[Vmap]
check_grads: Typed[CheckGrads]
custom_derivative: Typed[CustomOf]
implicit: Typed[Implicit]
sparse_jacobian: Typed[SparseJacobian]
product_with_hessian: Typed[ProductWithHessian]
rrule: Typed[DeclareRule]
non_differentiable: Typed[NonDifferentiable]
