"""Tensor functions: `@wengert.tensor.function` on a Python function made of comprehensions, and its derivatives.

A tensor function is a primitive of the tape; its rule is the adjoint, a tensor function again.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Mapping
from typing import Any, Literal, get_args

from wengert.errors import ArgumentError, IntegerInputError, NonScalarOutputError, TensorLanguageError
from wengert.rulebook.rule import Carrier, Rule
from wengert.tensor import stages
from wengert.tensor.bare import SIZES_KEPT, FunctionCache, call_form
from wengert.tensor.instances import Instance, flat_arrays, has_derivative, instance_of, nest_arrays, unused_name
from wengert.tensor.language.relations import Relation
from wengert.tensor.reading.arguments import argument_leaves, as_float_array, signature_of_argument
from wengert.tensor.reading.meanings import Group, Index, Meaning, RealKind
from wengert.tensor.reading.parsing import parse
from wengert.values.callables import place
from wengert.values.lazy_attribute import computed_once

LastCall = tuple[Instance, dict[str, Relation]]  # the program of a call, and its relations by name
PositionsOrNames = int | str | tuple[int | str, ...]

BackendName = Literal["auto", "numpy", "native", "reference"]

BACKENDS = get_args(BackendName)


class TensorFunction(Carrier):
    """A function of the tensor language: call it like the Python function that it was made from.

    `wg.tensor.function` makes one. Its methods derive others from it. In all methods `argnums` is a position or a name
    of an argument, or a tuple of these for a tuple of derivatives.

    Parameters:
        name (str): Its name.
        parameters (tuple[str, ...]): The names of its parameters.
        backend (str): The backend that runs it.
    See Also:
        function

    Examples:
        >>> @wg.tensor.function(backend="numpy")
        ... def dot(a, b):
        ...     return sum(a[i] * b[i] for i in range(len(a)))
        >>> a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
        >>> print(dot(a, b), dot.grad()(a, b), dot.cost(a, b))
        11.0 [3. 4.] 3
    """

    like: Any = None  # the Python function that has the same parameters

    def __init__(self, name: str, parameters: tuple[str, ...], backend: BackendName) -> None:
        if backend not in BACKENDS:
            raise ArgumentError(f"unknown backend {backend!r}; there are {', '.join(BACKENDS)}")
        self.__name__, self.parameters, self.backend = name, parameters, backend
        self._cache = FunctionCache()

    def __repr__(self) -> str:
        return f"<tensor function {self.__name__}({', '.join(self.parameters)})>"

    def instance(self, args: tuple[Any, ...]) -> Instance:
        """Return the program for arguments of the shapes of `args`."""
        raise NotImplementedError

    def given(self, args: tuple[Any, ...]) -> list[Any]:
        """Return the arrays and relations in the arguments `args`, one by one."""
        return [x for name, a in zip(self.parameters, args, strict=True) for x in argument_leaves(name, a)]

    def bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call with `args` and `kwargs`, all by position."""
        if self.like is not None and (kwargs or self.only or len(args) != len(self.parameters)):
            bound = inspect.signature(self.like).bind(*args, **kwargs)
            bound.apply_defaults()
            return tuple(bound.arguments[name] for name in self.parameters)
        if kwargs or len(args) < len(self.parameters):
            raise ArgumentError(f"{self.__name__} takes all its arguments by position: {', '.join(self.parameters)}")
        return args

    @computed_once
    def only(self) -> tuple[str, ...]:
        """The names of the keyword-only parameters."""
        parameters = inspect.signature(self.like).parameters.values() if self.like is not None else ()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        form = call_form(args)
        known = None if kwargs else self._cache.direct_calls.get(form)
        if known is not None and known.is_valid():
            self._cache.last_call = known.last_call
            return known(args)
        bound = self.bound(args, kwargs)
        instance = self.instance(bound)
        results, relations = instance.run(self.given(bound), self.backend)
        self._cache.last_call = instance, relations
        if bound is args:
            self._cache.add(instance, form, self.backend)
        return nest_arrays(instance.result, iter(results))

    @computed_once
    def own_rule(self) -> Rule:
        return rule_of_adjoint(self)

    # ---- derivatives ----

    def grad(self, argnums: PositionsOrNames = 0) -> TensorFunction:
        """Return the gradient by `argnums`, a function of the same arguments; the result must be one number.

        Errors, at a call: NonScalarOutputError; IntegerInputError for an argument that is a size.
        """
        return _derived_once(self, "grad", argnums, lambda: GradientFunction(self, argnums, with_value=False))

    def value_and_grad(self, argnums: PositionsOrNames = 0) -> TensorFunction:
        """Return the function that returns `(value, gradient)`; `argnums` and errors are as in `grad`."""
        return _derived_once(self, "value_and_grad", argnums, lambda: GradientFunction(self, argnums, with_value=True))

    @property
    def adjoint(self) -> TensorFunction:
        """The function from `(*args, y_bar)` to a tuple of cotangents, one for each argument that holds floats."""
        return self.pullback(None)

    def pullback(self, argnums: PositionsOrNames | None) -> TensorFunction:
        """Return the adjoint by `argnums` only; None means all arguments that hold floats."""
        return _derived_once(self, "pullback", argnums, lambda: AdjointFunction(self, argnums))

    def differential(self, argnums: PositionsOrNames = 0) -> TensorFunction:
        """Return the function from `(*args, *tangents)` to the result's tangent; each of `argnums` has a tangent."""
        return _derived_once(self, "differential", argnums, lambda: DifferentialFunction(self, argnums, "differential"))

    def jacobian(self, argnum: int | str = 0) -> TensorFunction:
        """Return the Jacobian: the derivative of each element of the result by each element of the argument `argnum`.

        Shapes: the axes of the result, then those of the argument.
        """
        return _derived_once(self, "jacobian", argnum, lambda: JacobianFunction(self, argnum, "jacobian", ()))

    def gauss_newton(self, argnums: PositionsOrNames = 0) -> TensorFunction:
        """Return the function from `(*args, *tangents)` to JᵀJ times the tangents, with J the Jacobian by `argnums`."""
        return _derived_once(self, "gauss_newton", argnums, lambda: GaussNewtonFunction(self, argnums, "gauss_newton"))

    # ---- inspection ----

    def cost(self, *args: Any, **kwargs: Any) -> int:
        """Count the additions, multiplications and calls of black boxes at these arguments.

        After a call you can ask for other sizes by name: `f.cost({"n": 100})`.
        """
        if len(args) == 1 and isinstance(args[0], Mapping) and not kwargs:
            instance, relations = self._last_call("cost")
            return instance.cost(relations, args[0])
        instance, relations = self._call_of(args, kwargs)
        return instance.cost(relations)

    def show(self, stage: str = "program", *args: Any, **kwargs: Any) -> None:
        """Print the program at a `stage` of its compilation, for these arguments or those of the last call.

        The stages are "program", "lets", "pairs", "gens", "ssa", "simplified", "plan" and "source".
        """
        print(stages.stage_text(*self._inspected_call(args, kwargs, "show"), stage))

    def to_source(self, *args: Any, **kwargs: Any) -> str:
        """Return the Python source that runs for these arguments, or for those of the last call."""
        instance, relations = self._inspected_call(args, kwargs, "to_source")
        backend = "numpy" if self.backend == "reference" else self.backend
        return instance.runner(backend, relations).text

    def _inspected_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], method: str) -> LastCall:
        return self._last_call(method) if not args and not kwargs and self.parameters else self._call_of(args, kwargs)

    def _call_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> LastCall:
        args = self.bound(args, kwargs)
        instance = self.instance(args)
        return instance, instance.values(self.given(args))[1]

    def _last_call(self, method: str) -> LastCall:
        if self._cache.last_call is None:
            raise TensorLanguageError(
                f"{self.__name__}.{method} needs arguments, because the program depends on their shapes. "
                "Pass them, or call the function first"
            )
        return self._cache.last_call


def _derived_once(f: TensorFunction, *key_and_make: Any) -> TensorFunction:
    """Return the derived function under this key, made by `make()` at first use."""
    *key, make = key_and_make
    known = f.__dict__.setdefault("_derived", {})
    if tuple(key) not in known:
        known[tuple(key)] = make()
    return known[tuple(key)]


class FunctionFromSource(TensorFunction):
    """A tensor function read from the source of a Python function."""

    def __init__(self, plain: types.FunctionType, backend: BackendName) -> None:
        functools.update_wrapper(self, plain, updated=())  # without the attributes of the function
        super().__init__(plain.__name__, tuple(inspect.signature(plain).parameters), backend)
        self.plain = self.like = plain

    def instance(self, args: tuple[Any, ...]) -> Instance:
        key = (self.plain.__code__, *map(signature_of_argument, args))
        found = self._cache.instances.pop(key, None)
        if found is None or not found.is_valid():
            found = instance_of(parse(self.plain, dict(zip(self.parameters, args, strict=True))))
        self._cache.instances[key] = found
        for old in list(self._cache.instances)[:-SIZES_KEPT]:  # another thread may have dropped it
            self._cache.instances.pop(old, None)
        return found


class DerivedFunction(TensorFunction):
    """A tensor function derived from another, `of`, by `argnums`; `further` are its additional parameters."""

    def __init__(
        self, of: TensorFunction, argnums: PositionsOrNames | None, name: str, further: tuple[str, ...]
    ) -> None:
        super().__init__(f"{name}({of.__name__})", (*of.parameters, *further), of.backend)
        self.of, self.argnums = of, argnums
        self.like = None if further else of.like

    def instance(self, args: tuple[Any, ...]) -> Instance:
        base = self.of.instance(args[: len(self.of.parameters)])
        if self not in base.derived:
            base.derived[self] = self.derive(base)
        return base.derived[self]

    def given(self, args: tuple[Any, ...]) -> list[Any]:
        """Return the arrays and relations in the arguments; integers among cotangents and tangents become floats."""
        own = len(self.of.parameters)
        return [*self.of.given(args[:own]), *[as_float_array(self.parameters[-1], x) for x in flat_arrays(args[own:])]]

    def derive(self, base: Instance) -> Instance:
        raise NotImplementedError

    def wanted(self, base: Instance) -> list[Meaning]:
        """Return the meanings of the arguments that `argnums` names. Errors: if one of them has no derivative."""
        named = base.arguments
        if self.argnums is None:
            return [meaning for _, meaning in named if has_derivative(meaning)]
        numbers = self.argnums if isinstance(self.argnums, tuple) else (self.argnums,)
        found = [(k, dict(named)[k]) if isinstance(k, str) else named[k] for k in numbers]
        return [differentiable(name, meaning) for name, meaning in found]

    @property
    def single(self) -> bool:
        """Whether `argnums` is not a tuple, so that the derivative is none either."""
        return self.argnums is not None and not isinstance(self.argnums, tuple)


class AdjointFunction(DerivedFunction):
    """The function from (*args, y_bar) to the cotangents of some arguments."""

    def __init__(self, of: TensorFunction, argnums: PositionsOrNames | None) -> None:
        super().__init__(of, argnums, "adjoint", (unused_name("y_bar", of.parameters),))

    def derive(self, base: Instance) -> Instance:
        return base.adjoint(self.wanted(base), self.single)


class GradientFunction(DerivedFunction):
    """The gradient of a function that returns one number."""

    def __init__(self, of: TensorFunction, argnums: PositionsOrNames, with_value: bool) -> None:
        super().__init__(of, argnums, "value_and_grad" if with_value else "grad", ())
        self.with_value = with_value

    def derive(self, base: Instance) -> Instance:
        if not isinstance(base.result, RealKind):
            name = self.of.__name__
            raise NonScalarOutputError(
                f"{name} returns {base.result}, not one number, so that it has no gradient. Use "
                f"{name}.adjoint(*args, y_bar) or {name}.differential(argnums)(*args, *tangents)"
            )
        found = base.adjoint(self.wanted(base), self.single).seeded()
        return base.with_value(found) if self.with_value else found


class JacobianFunction(DerivedFunction):
    """The derivatives of each element of the result by each element of an argument."""

    def derive(self, base: Instance) -> Instance:
        wanted, *more = self.wanted(base)
        if more or isinstance(wanted, Group):
            raise TensorLanguageError(
                f"{self.of.__name__}.jacobian({self.argnums!r}): a Jacobian is by one array. "
                "Make one for each array, and pass the arrays of a tuple as arguments of their own"
            )
        return base.jacobian(wanted)


class LinearisedFunction(DerivedFunction):
    """A function of (*args, *tangents) that is linear in the tangents, one for each argument in `argnums`."""

    def __init__(self, of: TensorFunction, argnums: PositionsOrNames, name: str) -> None:
        numbers = argnums if isinstance(argnums, tuple) else (argnums,)
        named = [k if isinstance(k, str) else of.parameters[k] for k in numbers]
        super().__init__(of, argnums, name, tuple(unused_name(f"{name}_dot", of.parameters) for name in named))


class DifferentialFunction(LinearisedFunction):
    """The function from (*args, *tangents) to the tangent of the result."""

    def derive(self, base: Instance) -> Instance:
        return base.differential(self.wanted(base))


class GaussNewtonFunction(LinearisedFunction):
    """The function from (*args, *tangents) to JᵀJ times the tangents."""

    def derive(self, base: Instance) -> Instance:
        return base.gauss_newton(self.wanted(base), self.single)


def differentiable(name: str, meaning: Meaning) -> Meaning:
    """Check that there is a derivative by an argument of this meaning, and return the meaning."""
    if isinstance(meaning, Index):
        raise IntegerInputError(f"{name} is an integer, so it is a size and has no derivative. Pass a float instead")
    if not has_derivative(meaning):
        raise TensorLanguageError(
            f"{name} is {meaning}, which has no derivative. Differentiate by numbers or arrays of floats"
        )
    return meaning


# ---- the rule ----


RULE = """
def tensor_rule({y_bar}, {y}, {parameters}):
    {args} = ({listed},)
    {at} = {differentiable_positions}({args})
    {found} = {iter}({pullback}({at})(*{args}, *{cotangent_parts}({y_bar})))
    return {tuple}([{next}({found}) if {k} in {at} else None for {k} in {range}({len}({args}) - {only})])
"""
"""The names in it are none of the function's parameters."""


def rule_of_adjoint(f: TensorFunction) -> Rule:
    """Make the rule of a tensor function: it has the same parameters, and x̄ is the value of the adjoint."""
    plain, only = f.like, f.only
    values: dict[str, Any] = {"iter": iter, "tuple": tuple, "next": next, "range": range, "len": len}
    values |= {"differentiable_positions": differentiable_positions, "cotangent_parts": cotangent_parts}
    values["pullback"] = f.pullback
    names = {name: unused_name(name, f.parameters) for name in ("y_bar", "y", "args", "at", "found", "k", *values)}
    listed = [name for name in f.parameters if name not in only] + (["*", *only] if only else [])
    if plain is None:
        listed = ["*args"]  # as many cotangents as the result has parts
    given = "*args" if plain is None else ", ".join(f.parameters)
    text = RULE.format(parameters=", ".join(listed), listed=given, only=len(only), **names)
    space = {names[name]: value for name, value in values.items()}
    exec(compile(text, f"<rule of {f.__name__!r}>", "exec"), space)
    body = space["tensor_rule"]
    if plain is not None:
        body.__defaults__, body.__kwdefaults__ = plain.__defaults__, plain.__kwdefaults__
    return Rule("tensor_rule", (f,), "pullback", body, f"<{f.__name__}>" if plain is None else place(plain))


def differentiable_positions(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the positions of the arguments of a call that are numbers or arrays, by which there is a derivative."""
    if any(isinstance(x, tuple) for x in args):
        raise TensorLanguageError(
            "a tensor function inside another derivative was called with a tuple. Pass its arrays one by one, "
            "or use the derivatives of the tensor function itself: f.grad, f.adjoint"
        )
    return tuple(k for k, x in enumerate(args) if not isinstance(x, bool) and signature_of_argument(x)[0] == "array")


def cotangent_parts(y_bar: Any) -> Any:
    """Return the cotangents of a result's parts, one by one, as the adjoint takes them."""
    return y_bar if isinstance(y_bar, tuple) else (y_bar,)


def function(plain: Any = None, *, backend: BackendName = "auto") -> Any:
    """Make a `TensorFunction` of `plain`, a Python function made of comprehensions. A decorator.

    Its derivative takes at most four times its operations.

    Parameters:
        plain (callable | None): The Python function. Without it, `function` returns a decorator.
        backend (str): "numpy", "native" (compiled by numba) or "reference" (slow, for checks). The default "auto" is
            numba where it is installed and worth compiling, else NumPy.
    Returns:
        TensorFunction: The function.
    Raises:
        TensorLanguageError: At a call: the code is not in the language; the error names the line.
        OutOfRangeError: At a call: an access is not known to stay in its array.
    See Also:
        TensorFunction, relation

    Examples:
        >>> @wg.tensor.function(backend="numpy")
        ... def total(a):
        ...     return sum(a[i] * a[i] for i in range(len(a)))
        >>> total.grad()(np.array([1.0, 2.0]))
        array([2., 4.])
    """
    if plain is None:
        return lambda f: function(f, backend=backend)
    if not isinstance(plain, types.FunctionType):
        raise TensorLanguageError(f"wengert.tensor.function takes a Python function; got {type(plain).__name__}")
    return FunctionFromSource(plain, backend)
