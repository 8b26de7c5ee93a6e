"""What type checkers see in place of functions whose result's type depends on what they are given.

Parameters and docstrings are those of the functions; here stands, by overloads, what comes out for what goes in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, overload

from wengert.values.gradients import Gradients

P = ParamSpec("P")
Q = ParamSpec("Q")
X = TypeVar("X")
R = TypeVar("R")
A = TypeVar("A")
Result = TypeVar("Result", covariant=True)
Argnums = int | str | Sequence[int | str] | None
Several = tuple[int | str, ...] | list[int] | list[str]


class Function(Protocol[P, Result]):
    """A function of f's parameters."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...


class Gradient(Protocol[P]):
    """A function of f's parameters that gives what is like its first argument."""

    @overload
    def __call__(self: Gradient[Concatenate[X, Q]], x: X, /, *args: Q.args, **kwargs: Q.kwargs) -> X: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any: ...


class ValueAndGradient(Protocol[P, Result]):
    """A function of f's parameters that gives f's value, and what is like its first argument."""

    @overload
    def __call__(
        self: ValueAndGradient[Concatenate[X, Q], R], x: X, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> tuple[R, X]: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> tuple[Result, Any]: ...


class Compiled(Function[P, Result], Protocol):
    """A function of f's parameters that gives what f gives, and tells of its traces."""

    @overload
    def __get__(self, obj: None, cls: Any = None, /) -> Compiled[P, Result]: ...
    @overload
    def __get__(self: Compiled[Concatenate[X, Q], R], obj: X, cls: Any = None, /) -> Callable[Q, R]: ...
    def explain(self) -> str: ...
    def source(self) -> str: ...
    def clear(self) -> None: ...


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
        self, f: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = False
    ) -> tuple[R, R]: ...
    @overload
    def __call__(
        self, f: Callable[..., tuple[R, A]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
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
        self,
        g: Callable[P, R],
        *,
        exact: bool = False,
        strict: bool = False,
        native: bool | None = None,
        quiet: bool = False,
    ) -> Compiled[P, R]: ...
    @overload
    def __call__(
        self,
        g: None = None,
        *,
        exact: bool = False,
        strict: bool = False,
        native: bool | None = None,
        quiet: bool = False,
    ) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...


def _itself(f: Any) -> Any:
    return f


Typed = Callable[[Callable[..., Any]], X]
grad: Typed[Grad] = _itself
value_and_grad: Typed[ValueAndGrad] = _itself
jacobian: Typed[Jacobian] = _itself
value_and_jacobian: Typed[ValueAndJacobian] = _itself
elementwise_grad: Typed[ElementwiseGrad] = _itself
derivative: Typed[DerivativeOf] = _itself
vjp: Typed[Vjp] = _itself
jvp: Typed[Jvp] = _itself
linearize: Typed[Linearize] = _itself
compile: Typed[Compile] = _itself
