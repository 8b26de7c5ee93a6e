"""Tensor functions: `@wengert.tensor.function` on a Python function made of comprehensions, and what derives from it.

A tensor function is a primitive of the tape; its rule is the adjoint, a tensor function again.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Mapping
from typing import Any, Literal, get_args

from wengert.errors import IntegerInputError, NonScalarOutputError, TensorLanguageError
from wengert.rulebook.rule import Carrier, Rule
from wengert.tensor import stages
from wengert.tensor.bare import SIZES_KEPT, Kept, form_of
from wengert.tensor.instances import Instance, arrays_in, has_derivative, instance_of, structured
from wengert.tensor.language.relations import Relation
from wengert.tensor.reading.arguments import argument_leaves, numeric, signature_of_argument
from wengert.tensor.reading.meanings import Group, Index, Meaning, RealKind
from wengert.tensor.reading.parsing import parse
from wengert.values.callables import place
from wengert.values.lazy_attribute import computed_once

LastCall = tuple[Instance, dict[str, Relation]]  # a program, and the relations that it was called with
Argnums = int | str | tuple[int | str, ...]

BackendName = Literal["auto", "numpy", "native", "reference"]

BACKENDS = get_args(BackendName)


class TensorFunction(Carrier):
    """A function of the tensor language: call it as the Python function that it was made from.

    `wg.tensor.function` makes it, and so do its own methods, which derive others from it. It has a `name`, the names of
    its `parameters`, and a `backend` that runs it. `argnums` is, in all methods, a position or a name, or a tuple of
    these, for which there is a tuple of derivatives.

    >>> @wg.tensor.function(backend="numpy")
    ... def dot(a, b):
    ...     return sum(a[i] * b[i] for i in range(len(a)))
    >>> a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    >>> print(dot(a, b), dot.grad()(a, b), dot.cost(a, b))
    11.0 [3. 4.] 3
    """

    like: Any = None  # the Python function whose parameters it has

    def __init__(self, name: str, parameters: tuple[str, ...], backend: BackendName) -> None:
        if backend not in BACKENDS:
            raise ValueError(f"backend {backend!r}: there are {', '.join(BACKENDS)}")
        self.__name__, self.parameters, self.backend = name, parameters, backend
        self._kept = Kept()

    def __repr__(self) -> str:
        return f"<tensor function {self.__name__}({', '.join(self.parameters)})>"

    def instance(self, args: tuple[Any, ...]) -> Instance:
        """The program for arguments of the shapes of `args`."""
        raise NotImplementedError

    def given(self, args: tuple[Any, ...]) -> list[Any]:
        """The arrays and relations in the arguments `args`, one by one."""
        return [x for name, a in zip(self.parameters, args, strict=True) for x in argument_leaves(name, a)]

    def bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call with `args` and `kwargs`, all by position."""
        if self.like is not None and (kwargs or self.only or len(args) != len(self.parameters)):
            bound = inspect.signature(self.like).bind(*args, **kwargs)
            bound.apply_defaults()
            return tuple(bound.arguments[name] for name in self.parameters)
        if kwargs or len(args) < len(self.parameters):
            raise TypeError(f"{self.__name__} takes {', '.join(self.parameters)} by position")
        return args

    @computed_once
    def only(self) -> tuple[str, ...]:
        """The names of the keyword-only parameters."""
        parameters = inspect.signature(self.like).parameters.values() if self.like is not None else ()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        form = form_of(args)
        known = None if kwargs else self._kept.bare.get(form)
        if known is not None and known.holds():
            self._kept.latest = known.latest
            return known(args)
        bound = self.bound(args, kwargs)
        instance = self.instance(bound)
        results, relations = instance.run(self.given(bound), self.backend)
        self._kept.latest = instance, relations
        if bound is args:
            self._kept.keep(instance, form, self.backend)
        return structured(instance.result, iter(results))

    @computed_once
    def own_rule(self) -> Rule:
        return derived_rule(self)

    # ---- derivatives ----

    def grad(self, argnums: Argnums = 0) -> TensorFunction:
        """The gradient, by `argnums`, of a function that gives one number, as a function of the same arguments.

        Errors: when it is called, NonScalarOutputError; IntegerInputError for an argument that is a size.
        """
        return _remembered(self, "grad", argnums, lambda: GradientFunction(self, argnums, with_value=False))

    def value_and_grad(self, argnums: Argnums = 0) -> TensorFunction:
        """The function that returns `(value, gradient)`; `argnums` and errors are those of `grad`."""
        return _remembered(self, "value_and_grad", argnums, lambda: GradientFunction(self, argnums, with_value=True))

    @property
    def adjoint(self) -> TensorFunction:
        """The function from `(*args, y_bar)` to a tuple of cotangents, one for each argument that holds floats."""
        return self.pullback(None)

    def pullback(self, argnums: Argnums | None) -> TensorFunction:
        """The adjoint by `argnums` only; None means all arguments that hold floats."""
        return _remembered(self, "pullback", argnums, lambda: AdjointFunction(self, argnums))

    def differential(self, argnums: Argnums = 0) -> TensorFunction:
        """The function from `(*args, *tangents)` to the tangent of the result, with a tangent for each of `argnums`."""
        return _remembered(self, "differential", argnums, lambda: DifferentialFunction(self, argnums, "differential"))

    def jacobian(self, argnum: int | str = 0) -> TensorFunction:
        """The derivatives of each element of the result by each element of the argument `argnum`.

        Shapes: the result's, then the argument's.
        """
        return _remembered(self, "jacobian", argnum, lambda: JacobianFunction(self, argnum, "jacobian", ()))

    def gauss_newton(self, argnums: Argnums = 0) -> TensorFunction:
        """The function from `(*args, *tangents)` to JᵀJ times the tangents, with J the Jacobian by `argnums`."""
        return _remembered(self, "gauss_newton", argnums, lambda: GaussNewtonFunction(self, argnums, "gauss_newton"))

    # ---- reading it ----

    def cost(self, *args: Any, **kwargs: Any) -> int:
        """How many additions, multiplications and calls it takes at these arguments.

        After a call, or with `args` before, it may be asked for other sizes by name: `f.cost({"n": 100})`.
        """
        if len(args) == 1 and isinstance(args[0], Mapping) and not kwargs:
            instance, relations = self._seen("cost")
            return instance.cost(relations, args[0])
        instance, relations = self._for(args, kwargs)
        return instance.cost(relations)

    def show(self, stage: str = "program", *args: Any, **kwargs: Any) -> None:
        """Print the program at a `stage` on its way, for these arguments or those of the last call.

        The stages are "program", "lets", "pairs", "gens", "ssa", "simplified", "plan" and "source".
        """
        print(stages.stage_text(*self._at(args, kwargs, "show"), stage))

    def to_source(self, *args: Any, **kwargs: Any) -> str:
        """Return the Python source that runs for these arguments, or for those of the last call."""
        instance, relations = self._at(args, kwargs, "to_source")
        backend = "numpy" if self.backend == "reference" else self.backend
        return instance.runner(backend, relations).text

    def _at(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], what: str) -> LastCall:
        return self._seen(what) if not args and not kwargs and self.parameters else self._for(args, kwargs)

    def _for(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> LastCall:
        args = self.bound(args, kwargs)
        instance = self.instance(args)
        return instance, instance.values(self.given(args))[1]

    def _seen(self, what: str) -> LastCall:
        if self._kept.latest is None:
            raise TensorLanguageError(
                f"{self.__name__}.{what} needs arguments: the program is read for their shapes. "
                "Pass some, or call the function first"
            )
        return self._kept.latest


def _remembered(f: TensorFunction, *key_and_make: Any) -> TensorFunction:
    """The derived function under this key, made by `make()` at the first time."""
    *key, make = key_and_make
    known = f.__dict__.setdefault("_derived", {})
    if tuple(key) not in known:
        known[tuple(key)] = make()
    return known[tuple(key)]


class FromPython(TensorFunction):
    """A tensor function read from the source of a Python function."""

    def __init__(self, plain: types.FunctionType, backend: BackendName) -> None:
        functools.update_wrapper(self, plain, updated=())  # attributes of the function are not ours
        super().__init__(plain.__name__, tuple(inspect.signature(plain).parameters), backend)
        self.plain = self.like = plain

    def instance(self, args: tuple[Any, ...]) -> Instance:
        key = (self.plain.__code__, *map(signature_of_argument, args))
        found = self._kept.instances.pop(key, None)
        if found is None or not found.holds():
            found = instance_of(parse(self.plain, dict(zip(self.parameters, args, strict=True))))
        self._kept.instances[key] = found
        for old in list(self._kept.instances)[:-SIZES_KEPT]:  # another thread may have dropped it
            self._kept.instances.pop(old, None)
        return found


class Derived(TensorFunction):
    """A tensor function derived from another, `of`, by `argnums`; `further` are parameters that it has besides."""

    def __init__(self, of: TensorFunction, argnums: Argnums | None, name: str, further: tuple[str, ...]) -> None:
        super().__init__(f"{name}({of.__name__})", (*of.parameters, *further), of.backend)
        self.of, self.argnums = of, argnums
        self.like = None if further else of.like

    def instance(self, args: tuple[Any, ...]) -> Instance:
        base = self.of.instance(args[: len(self.of.parameters)])
        if self not in base.derived:
            base.derived[self] = self.derive(base)
        return base.derived[self]

    def given(self, args: tuple[Any, ...]) -> list[Any]:
        """The arrays and relations in the arguments; cotangents and tangents are numbers, also where they are whole."""
        own = len(self.of.parameters)
        return [*self.of.given(args[:own]), *[numeric(self.parameters[-1], x) for x in arrays_in(args[own:])]]

    def derive(self, base: Instance) -> Instance:
        raise NotImplementedError

    def wanted(self, base: Instance) -> list[Meaning]:
        """Return the meanings of the arguments that `argnums` names. Errors: where one has no derivative."""
        named = base.arguments
        if self.argnums is None:
            return [meaning for _, meaning in named if has_derivative(meaning)]
        numbers = self.argnums if isinstance(self.argnums, tuple) else (self.argnums,)
        found = [(k, dict(named)[k]) if isinstance(k, str) else named[k] for k in numbers]
        return [differentiable(name, meaning) for name, meaning in found]

    @property
    def single(self) -> bool:
        """Whether `argnums` names one argument, so that the derivative is no tuple."""
        return self.argnums is not None and not isinstance(self.argnums, tuple)


class AdjointFunction(Derived):
    """The function of (*args, y_bar) that gives the cotangents of some arguments."""

    def __init__(self, of: TensorFunction, argnums: Argnums | None) -> None:
        super().__init__(of, argnums, "adjoint", (_new("y_bar", of.parameters),))

    def derive(self, base: Instance) -> Instance:
        return base.adjoint(self.wanted(base), self.single)


class GradientFunction(Derived):
    """The gradient of a function that gives one number."""

    def __init__(self, of: TensorFunction, argnums: Argnums, with_value: bool) -> None:
        super().__init__(of, argnums, "value_and_grad" if with_value else "grad", ())
        self.with_value = with_value

    def derive(self, base: Instance) -> Instance:
        if not isinstance(base.result, RealKind):
            name = self.of.__name__
            raise NonScalarOutputError(
                f"{name} gives {base.result}, not one number. Its derivative is a linear map: "
                f"{name}.adjoint(*args, y_bar), or {name}.differential(argnums)(*args, *tangents)"
            )
        found = base.adjoint(self.wanted(base), self.single).seeded()
        return base.with_value(found) if self.with_value else found


class JacobianFunction(Derived):
    """The derivatives of each element of the result by each of an argument."""

    def derive(self, base: Instance) -> Instance:
        wanted, *more = self.wanted(base)
        if more or isinstance(wanted, Group):
            raise TensorLanguageError(
                f"the Jacobian of {self.of.__name__} by {self.argnums!r}: it is by one array. "
                "Take one for each, and pass the arrays of a tuple one by one"
            )
        return base.jacobian(wanted)


class LinearisedFunction(Derived):
    """A function of (*args, *tangents) that is linear in the tangents, one for each argument in `argnums`."""

    def __init__(self, of: TensorFunction, argnums: Argnums, name: str) -> None:
        numbers = argnums if isinstance(argnums, tuple) else (argnums,)
        named = [k if isinstance(k, str) else of.parameters[k] for k in numbers]
        super().__init__(of, argnums, name, tuple(_new(f"{name}_dot", of.parameters) for name in named))


class DifferentialFunction(LinearisedFunction):
    """The function of (*args, *tangents) that gives the tangent of the result."""

    def derive(self, base: Instance) -> Instance:
        return base.differential(self.wanted(base))


class GaussNewtonFunction(LinearisedFunction):
    """The function of (*args, *tangents) that gives JᵀJ times the tangents."""

    def derive(self, base: Instance) -> Instance:
        return base.gauss_newton(self.wanted(base), self.single)


def _new(name: str, taken: tuple[str, ...]) -> str:
    while name in taken:
        name += "_"
    return name


def differentiable(name: str, meaning: Meaning) -> Meaning:
    """`meaning`, if there is a derivative by an argument of this meaning. Errors: where there is none."""
    if isinstance(meaning, Index):
        raise IntegerInputError(f"{name} is a whole number, a size: there is no derivative. For a number pass a float")
    if not has_derivative(meaning):
        raise TensorLanguageError(f"{name} is {meaning}: there is no derivative by it")
    return meaning


# ---- as a primitive of the tape ----


RULE = """
def tensor_rule({cotangent}, {value}, {parameters}):
    args = ({names},)
    at = places(args)
    cotangents = iter(pullback(at)(*args, *parts({cotangent})))
    return tuple([next(cotangents) if k in at else None for k in range(len(args) - {only})])
"""


def derived_rule(f: TensorFunction) -> Rule:
    """The rule of a tensor function, which has its parameters: x̄ is the value of its adjoint."""
    cotangent, value = _new("y_bar", f.parameters), _new("y", f.parameters)
    plain, only = f.like, f.only
    listed = [name for name in f.parameters if name not in only] + (["*", *only] if only else [])
    if plain is None:
        listed = ["*args"]  # as many cotangents as the result has parts
    names = "*args" if plain is None else ", ".join(f.parameters)
    text = RULE.format(cotangent=cotangent, value=value, parameters=", ".join(listed), names=names, only=len(only))
    space: dict[str, Any] = {"pullback": f.pullback, "places": places, "parts": cotangent_parts}
    exec(compile(text, f"<rule of {f.__name__!r}>", "exec"), space)
    body = space["tensor_rule"]
    if plain is not None:
        body.__defaults__, body.__kwdefaults__ = plain.__defaults__, plain.__kwdefaults__
    return Rule("tensor_rule", (f,), "pullback", body, f"<{f.__name__}>" if plain is None else place(plain))


def places(args: tuple[Any, ...]) -> tuple[int, ...]:
    """The positions of the arguments of a call that are numbers, by which there is a derivative."""
    if any(isinstance(x, tuple) for x in args):
        raise TensorLanguageError(
            "a tensor function that is part of another derivative got a tuple. Pass its arrays one by one, "
            "or take the derivative of the tensor function itself: f.grad, f.adjoint"
        )
    return tuple(k for k, x in enumerate(args) if not isinstance(x, bool) and signature_of_argument(x)[0] == "array")


def cotangent_parts(y_bar: Any) -> Any:
    """The cotangents of a result's parts, one by one, as the adjoint takes them."""
    return y_bar if isinstance(y_bar, tuple) else (y_bar,)


def function(plain: Any = None, *, backend: BackendName = "auto") -> Any:
    """Make a `TensorFunction` of `plain`, a Python function made of comprehensions. A decorator.

    Its derivative takes at most four times its operations. `backend` says what runs it: "numpy", "native" (compiled by
    numba) or "reference" (slow, for checks); by default, "auto", numba where it is installed, else NumPy.

    >>> @wg.tensor.function(backend="numpy")
    ... def total(a):
    ...     return sum(a[i] * a[i] for i in range(len(a)))
    >>> total.grad()(np.array([1.0, 2.0]))
    array([2., 4.])

    Errors: TensorLanguageError, with the line, for what the language does not have; OutOfRangeError for an access that
    is not known to stay in its array.
    """
    if plain is None:
        return lambda f: function(f, backend=backend)
    if not isinstance(plain, types.FunctionType):
        raise TensorLanguageError(f"wengert.tensor.function is for Python functions; got {type(plain).__name__}")
    return FromPython(plain, backend)
