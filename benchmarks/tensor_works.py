"""What the tensor benchmark measures: programs as tensor functions, by hand in NumPy, and for JAX and PyTorch.

A peer's version is what its user would write; all get the same arrays. `np` stands for a peer's own NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
Argnums = tuple[int, ...]


@dataclass(frozen=True)
class Derivative:
    """What is taken of a program, for some of its arguments.

    `ours` takes it of a tensor function; `peer` by JAX or torch.func, which have the same names for it.
    """

    ours: Callable[[Any, Argnums], Function]
    peer: Callable[[Any, Function, Argnums], Function]


def restricted(f: Function, args: tuple[Any, ...], at: Argnums) -> Function:
    """f of its arguments at some places, the others held."""
    return lambda *wanted: f(*(wanted[at.index(k)] if k in at else x for k, x in enumerate(args)))


def pulled_back(ad: Any, f: Function, at: Argnums) -> Function:
    return lambda *args: ad.vjp(restricted(f, args[:-1], at), *(args[k] for k in at))[1](args[-1])


def pushed_forward(ad: Any, f: Function, at: Argnums) -> Function:
    return lambda *args: ad.jvp(restricted(f, args[: -len(at)], at), tuple(args[k] for k in at), args[-len(at) :])[1]


def there_and_back(ad: Any, f: Function, at: Argnums) -> Function:
    """JᵀJ times tangents."""
    forward, backward = pushed_forward(ad, f, at), pulled_back(ad, f, at)
    return lambda *args: backward(*args[: -len(at)], forward(*args))


GRADIENT = Derivative(lambda f, at: f.grad(at), lambda ad, f, at: ad.grad(f, at))
# Behind the function's own arguments: the cotangents of its results as one, or a tangent for each argument wanted.
PULLBACK = Derivative(lambda f, at: f.pullback(at), pulled_back)
TANGENT = Derivative(lambda f, at: f.differential(at), pushed_forward)
HESSIAN_VECTOR = Derivative(
    lambda f, at: f.grad(at).differential(at), lambda ad, f, at: pushed_forward(ad, ad.grad(f, at), at)
)
HESSIAN = Derivative(lambda f, at: f.grad(at[0]).jacobian(at[0]), lambda ad, f, at: ad.hessian(f, at[0]))
GAUSS_NEWTON = Derivative(lambda f, at: f.gauss_newton(at), there_and_back)


@dataclass(frozen=True)
class Work:
    """A program and its derivative in all forms; `args` are those of the derivative at a size.

    Slopes are taken over `sizes`. All forms are compared at the largest, or at `compared` where a peer needs n².
    """

    name: str
    program: Function
    peer: Function  # (np, *args) to what the program gives, in the operations that NumPy, JAX and PyTorch share
    by_hand: Function  # (*args) to the derivative
    args: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...]
    compared: int = 0
    argnums: Argnums = (0,)
    derivative: Derivative = GRADIENT


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).random(shape) + 0.5
