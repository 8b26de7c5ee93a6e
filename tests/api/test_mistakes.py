"""What newcomers from autograd, JAX and PyTorch do first, and the words with which each error says what to do."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.values.foreign_names import INSTEAD

X = np.array([1.0, 2.0])
WHOLE = np.array([1, 2])
BUFFER = np.zeros(2, int)


def total(x: Any) -> Any:
    return np.sum(x**2)


def product(x: Any, y: Any) -> Any:
    return x * y


def power(x: Any, n: Any = 3.0) -> Any:
    return np.sum(x**n)


def scaled(a: Any) -> Callable[[Any], Any]:
    return lambda x: np.sum(a * x)


def into_whole_numbers(x: Any) -> Any:
    BUFFER[:] = x**2
    return np.sum(BUFFER)


def forgot_to_return(x: Any) -> None:
    x**2


class Model:
    def loss(self, x: Any) -> Any:
        return np.sum(x)


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    # what is differentiated
    "the value in place of the function": (lambda: wg.grad(total(X)), wg.ArgumentError, "Write grad(f)(x)"),
    "an array in place of the function": (lambda: wg.value_and_grad(X), wg.ArgumentError, "value_and_grad(f)(x)"),
    "jit of a value": (lambda: wg.compile(total(X)), wg.ArgumentError, "compile(f)(x)"),
    "vmap of an array": (lambda: wg.vmap(X), wg.ArgumentError, "vmap(lambda x: ...)(x)"),
    "a function of a class": (lambda: wg.grad(Model.loss)(X), TypeError, "missing 1 required positional argument: 'x'"),
    # results
    "a result that is no scalar": (lambda: wg.grad(lambda x: x**2)(X), wg.NonScalarOutputError, "Reduce it (.sum())"),
    "a list": (lambda: wg.grad(lambda x: [x])(2.0), wg.NonScalarOutputError, "Return one number"),
    "aux without has_aux": (lambda: wg.grad(lambda x: (x, 1))(2.0), wg.NonScalarOutputError, "use has_aux=True"),
    "has_aux without aux": (lambda: wg.grad(total, has_aux=True)(X), wg.ArgumentError, "Return a pair"),
    "nothing returned": (lambda: wg.grad(forgot_to_return)(2.0), wg.NoGradientPathError, "Return the float"),
    "a whole number returned": (lambda: wg.grad(int)(2.0), wg.NoGradientPathError, "Return the float"),
    "a bool returned": (lambda: wg.grad(lambda x: x > 1)(2.0), wg.NoGradientPathError, "Return the float"),
    "a complex number returned": (lambda: wg.grad(lambda z: z**2)(1j), wg.NonScalarOutputError, "holomorphic=True"),
    "holomorphic at a real number": (
        lambda: wg.grad(lambda z: z**2, holomorphic=True)(1.0), wg.ArgumentError, "Pass it as a complex number",
    ),
    "the matrix of many Hessians": (
        lambda: wg.hessian(lambda x: x**2, as_matrix=True)(X), wg.NonScalarOutputError, "Without as_matrix=True",
    ),
    "the slopes of a sum": (lambda: wg.elementwise_grad(total)(X), wg.ArgumentError, "wg.jacobian(f)"),
    "the derivative at an array": (lambda: wg.derivative(np.sin)(X), wg.ArgumentError, "wg.elementwise_grad(f)"),
    # arguments
    "an array of whole numbers": (lambda: wg.grad(total)(WHOLE), wg.IntegerInputError, "x.astype(float)"),
    "a bool": (lambda: wg.grad(total)(True), wg.IntegerInputError, "Pass a float"),
    "parameters that are whole": (lambda: wg.grad(lambda p: p["n"])({"n": 1}), wg.IntegerInputError, "Pass a float"),
    "one that is missing": (lambda: wg.grad(product)(2.0), TypeError, "missing 1 required positional argument: 'y'"),
    "a random key": (lambda: wg.random.key(0), AttributeError, "rng = np.random.default_rng(0)"),
    # argnums
    "argnum": (lambda: wg.grad(product, argnum=0), wg.ArgumentError, "Write argnums=0"),
    "argnum, at once": (lambda: wg.grad(product, 2.0, 3.0, argnum=0), wg.ArgumentError, "grad(f, argnums="),
    "wrt": (lambda: wg.grad(product, wrt="x"), wg.ArgumentError, "Write argnums='x'"),
    "a position after the function": (lambda: wg.grad(product, 1), wg.ArgumentError, "grad(f, argnums=1)"),
    "positions after the function": (lambda: wg.grad(product, (0, 1)), wg.ArgumentError, "grad(f, argnums=(0, 1))"),
    "positions from 1": (lambda: wg.grad(total, argnums=1)(X), wg.ArgumentError, "counted from 0"),
    "a name that is none": (lambda: wg.grad(total, argnums="w")(X), wg.ArgumentError, "The function's parameters"),
    "an array for argnums": (lambda: wg.value_and_grad(total, X), wg.ArgumentError, "value_and_grad(f)(x, y)"),
    "a closure variable": (lambda: wg.grad(scaled(2.0), argnums="a")(X), wg.ArgumentError, "[1].closure['a']"),
    "a global variable": (lambda: wg.grad(into_whole_numbers, argnums="BUFFER")(X), wg.ArgumentError, "BUFFER=BUFFER)"),
    "a global variable, at once": (lambda: wg.grad(total, X, argnums="np"), wg.ArgumentError, "Make it a parameter"),
    "no parameters": (lambda: wg.value_and_grad(lambda: 2.0)(), wg.ArgumentError, "has no parameters: make one of"),
    "keywords alone": (lambda: wg.grad(lambda *, x: x)(x=2.0), wg.ArgumentError, "name it: argnums='x'"),
    "argnums of the gradient": (lambda: wg.grad(total)(X, argnums=0), wg.ArgumentError, "grad(f, argnums=...)(x)"),
    "argnums of check_grads": (
        lambda: wg.check_grads(product, X, X, argnums=0), wg.ArgumentError, "check_grads(lambda x: f(x, a), x)",
    ),
    "jacobian at once": (lambda: wg.jacobian(np.sin, X), wg.ArgumentError, "jacobian(f)(x, y)"),
    "a sparse Jacobian at once": (lambda: wg.sparse_jacobian(np.sin, X), wg.ArgumentError, "sparse_jacobian(f)(x, y)"),
    "the argument before the function": (lambda: wg.hessian(X, total), wg.ArgumentError, "The function comes first"),
    "keywords at once": (lambda: wg.grad(product, x=1.0, y=2.0), wg.ArgumentError, "grad(f)(..., x=...)"),
    "a seed without arguments": (lambda: wg.grad(total, seed=1.0), wg.ArgumentError, "grad(f, x, seed=...)"),
    # vmap, jvp, vjp
    "numbers of examples": (lambda: wg.vmap(product)(np.ones(3), X), wg.ArgumentError, "in_axes=None"),
    "no axis of examples": (lambda: wg.vmap(product)(X, 2.0), wg.ArgumentError, "in_axes=None for it"),
    "jvp without tuples": (lambda: wg.jvp(total, X, X), wg.ArgumentError, "jvp(f, (x,), (x_dot,))"),
    "a fourth argument of hvp": (lambda: wg.hvp(power, X, X, 2.0), wg.ArgumentError, "hvp(f)(x, v, a)"),
    "a fourth argument of vhp": (lambda: wg.vhp(power, X, X, True), wg.ArgumentError, "has_aux and holomorphic"),
    "a fourth argument of jvp": (lambda: wg.jvp(power, (X,), (X,), 2.0), wg.ArgumentError, "jvp(f, (x, a), (x_dot"),
    "no direction, later": (lambda: wg.hvp(total)(X), wg.ArgumentError, "hvp(f)(x, v)"),
    "hvp of an array": (lambda: wg.hvp(X, total, X), wg.ArgumentError, "hvp needs a function"),
    "hvp at whole numbers": (lambda: wg.hvp(total, WHOLE, X), wg.ArgumentError, "x.astype(float)"),
    "the pullback at whole numbers": (lambda: wg.vjp(total, WHOLE)[1](1.0), ValueError, "Pass floats to the function"),
    "a tangent of another shape": (lambda: wg.jvp(total, (X,), (np.ones(3),)), wg.ArgumentError, "the primal has (2,)"),
    "a cotangent of another shape": (lambda: wg.vjp(np.sin, X)[1](1.0), ValueError, "the result has (2,)"),
    "check_grads at whole numbers": (lambda: wg.check_grads(total, WHOLE), wg.ArgumentError, "Pass floats (1.0"),
    "check_grads of whole lists": (lambda: wg.check_grads(total, [1, 2]), wg.ArgumentError, "Pass floats (1.0"),
    "check_grads the wrong way round": (lambda: wg.check_grads(X, total), wg.ArgumentError, "check_grads(f, x)"),
    "check_grads with the gradient": (
        lambda: wg.check_grads(total, X, gradient=wg.grad(total)), wg.ArgumentError, "gradient=lambda f, x: (",
    ),
    "check_grads with its value": (lambda: wg.check_grads(total, X, gradient=2 * X), wg.ArgumentError, "lambda f, x: "),
    "tol of check_grads": (lambda: wg.check_grads(total, X, tol=1e-3), wg.ArgumentError, "Write rtol="),
    "vjp of a name": (lambda: wg.vjp("total", X), wg.ArgumentError, "Write vjp(f, x)"),
    "jvp the wrong way round": (lambda: wg.jvp((X,), (X,), total), wg.ArgumentError, "Write jvp(f, (x,), (x_dot,))"),
    "linearize of a value": (lambda: wg.linearize(total(X), X), wg.ArgumentError, "Write linearize(f, x)"),
    "vmap at once": (lambda: wg.vmap(total, X), wg.ArgumentError, "write vmap(f)(xs)"),
    "vmap of nothing": (lambda: wg.vmap(total)(), wg.ArgumentError, "vmap(f)(xs)"),
    "implicit the wrong way round": (lambda: wg.implicit(X, total), wg.ArgumentError, "implicit(residual, x)"),
    "a rule for a name": (lambda: wg.vjp_rule("total"), wg.RuleError, "@vjp_rule(np.sin)"),
    "a gradient rule for a value": (lambda: wg.rrule(3.0), wg.RuleError, "Pass the function itself"),
    # inside the function
    "x.at[0].set": (lambda: wg.grad(lambda x: x.at[0].set(1.0))(X), AttributeError, "y = x.copy(); y[0] = 1.0"),
    "block_until_ready": (lambda: wg.grad(lambda x: total(x).block_until_ready())(X), AttributeError, "leave it out"),
    "detach": (lambda: wg.grad(lambda x: total(x.detach()))(X), AttributeError, "wg.stop_gradient(x)"),
    "backward": (lambda: wg.grad(lambda x: total(x).backward())(X), AttributeError, "wg.grad(loss)(params)"),
    "numpy()": (lambda: wg.grad(lambda x: total(x.numpy()))(X), AttributeError, "leave it out"),
    "math of an array": (lambda: wg.grad(lambda x: math.sin(x))(X), TypeError, "only"),  # Python's own words
    "a buffer of whole numbers": (lambda: wg.grad(into_whole_numbers)(X), wg.RefusedCallError, "an array of floats"),
    "memory": (lambda: wg.grad(lambda x: x.ctypes.data)(X), wg.RefusedCallError, "Index or copy the array"),
    "code in C": (lambda: wg.grad(lambda x: float(Decimal(x)))(2.0), wg.NoRuleError, "@wg.rrule(decimal.Decimal)"),
    "bytes": (lambda: wg.grad(lambda x: len(x.tobytes()))(X), wg.NoRuleError, "wg.non_differentiable("),
    # names
    "wg.np": (lambda: wg.np, AttributeError, "import numpy as np"),
    "wg.jit": (lambda: wg.jit, AttributeError, "wg.compile(f)"),
    "wg.lax": (lambda: wg.lax.scan, AttributeError, "if, for and while are traced"),
    "wg.custom_vjp": (lambda: wg.custom_vjp, AttributeError, "wg.rrule"),
    "wg.tree_util": (lambda: wg.tree_util, AttributeError, "wg.ravel"),
    "wg.make_jaxpr": (lambda: wg.make_jaxpr, AttributeError, "wg.gradtape(f, x)"),
    "wg.egrad": (lambda: wg.egrad, AttributeError, "wg.elementwise_grad(f)"),
    "wg.no_grad": (lambda: wg.no_grad, AttributeError, "wg.stop_gradient(x)"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_error_says_what_to_do(name: str) -> None:
    mistake, kind, words = MISTAKES[name]
    with pytest.raises(kind) as caught:
        mistake()
    assert words in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


RIGHT: dict[str, tuple[Callable[[], Any], Any]] = {
    "an int": (lambda: wg.grad(lambda x: x**2)(3), 6.0),
    "float() of a traced number": (lambda: wg.grad(lambda x: float(x[0]) ** 2)(X), [2.0, 0.0]),
    "item()": (lambda: wg.grad(lambda x: x[0].item() ** 2)(X), [2.0, 0.0]),
    "tolist()": (lambda: wg.grad(lambda x: sum(x.tolist()))(X), [1.0, 1.0]),
    "np.vectorize": (lambda: wg.grad(lambda x: np.sum(np.vectorize(lambda t: t**2)(x)))(X), [2.0, 4.0]),
    "stop_gradient": (lambda: wg.grad(lambda x: np.sum(wg.stop_gradient(x) * x))(X), [1.0, 2.0]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_a_mistake_elsewhere_is_none_here(name: str) -> None:
    program, expected = RIGHT[name]
    assert np.array_equal(program(), expected)


def test_a_write_into_an_array_from_outside_is_right() -> None:
    buffer = np.zeros(2)

    def f(x: Any) -> Any:
        buffer[:] = x**2
        return np.sum(buffer)

    assert np.array_equal(wg.grad(f)(X), 2 * X)
    assert np.array_equal(buffer, X**2)


@pytest.mark.parametrize(("f", "words"), [(np.floor, "floor returns"), (lambda x: X[int(x)], "int returns a constant")])
def test_a_zero_is_told(f: Any, words: str) -> None:
    with pytest.warns(wg.NoPathWarning, match=words):
        assert wg.grad(f)(1.0) == 0.0


def test_every_name_from_elsewhere_is_none_here_and_speaks_of_those_that_are() -> None:
    for name, said in INSTEAD.items():
        with pytest.raises(AttributeError, match="docs/coming-from"):
            getattr(wg, name)
        for word in said.replace("(", " ").split():
            if word.startswith("wg."):
                owner: Any = wg
                for step in word[3:].rstrip(",;.)").split("."):
                    owner = getattr(owner, step)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(wg, "hesian")
    with pytest.raises(AttributeError) as caught:
        wg.hesian  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("hesian", wg)  # of which Python makes: did you mean 'hessian'?


class OnADevice:
    """An array of another library, as JAX, PyTorch and CuPy have them."""

    dtype, shape, device = np.dtype(float), (2,), "gpu"

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(X, dtype)

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        return np


@pytest.mark.parametrize(
    "call",
    [
        lambda x: wg.grad(total)(x),
        lambda x: wg.value_and_grad(total)(x),
        lambda x: wg.grad(product, argnums=(0, 1))(X, x),
        lambda x: wg.grad(lambda tree: total(tree["w"][0]))({"w": [x]}),
        lambda x: wg.jacobian(total)(x),
        lambda x: wg.hessian(total)(x),
        lambda x: wg.vjp(total, x),
        lambda x: wg.jvp(total, (x,), (x,)),
        lambda x: wg.compile(wg.grad(total))(x),
        lambda x: wg.trace(total, x),
    ],
)
def test_an_array_of_another_library_is_refused_with_the_call_that_converts_it(call: Any) -> None:
    with pytest.raises(wg.ArgumentError, match=r"is an array of class test_mistakes\.OnADevice.*np\.asarray\(x\)"):
        call(OnADevice())
    assert np.array_equal(wg.grad(total)(np.asarray(OnADevice())), 2 * X)
