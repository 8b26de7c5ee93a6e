"""A program for the sizes of a call: its SSA form, its plan and back ends, and the programs derived from it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from wengert.errors import WengertError
from wengert.tensor.language.predicates import fresh_name
from wengert.tensor.language.relations import Relation
from wengert.tensor.language.terms import TRUE, Expr, PairType, Proj, TensorProgram, TensorType, Type, Var
from wengert.tensor.language.typechecking import shape_of_type
from wengert.tensor.passes.adjoint import adjoint_program, gauss_newton
from wengert.tensor.passes.differential import differential
from wengert.tensor.passes.jacobian import jacobian_program
from wengert.tensor.passes.ssa import to_ssa
from wengert.tensor.passes.statements import SSA, Fill, Load, Statement, evaluate_ssa, output_names, ssa_cost
from wengert.tensor.planning.enumeration import tabulated
from wengert.tensor.planning.plan import Plan, RelationToMake, plan
from wengert.tensor.planning.walks import Entries
from wengert.tensor.reading.arguments import runtime_form
from wengert.tensor.reading.gathers import relation_of_index_array
from wengert.tensor.reading.meanings import REAL_KIND, Group, Meaning, TensorKind, TupleKind, Value, ValueKind
from wengert.tensor.running.backends import Backend, build_program
from wengert.tensor.running.numpy_backend import NumpyProgram
from wengert.values.lazy_attribute import computed_once


class CotangentError(WengertError, ValueError):
    """A cotangent or tangent does not have the shape or the parts of its primal."""


@dataclass
class Instance:
    """A program for arguments of given shapes.

    `slots` name the arrays and relations of a call, one by one. `constants` are inputs from outer names of the
    function, which the guard `is_valid` checks. `arguments` are the meanings of arguments: a tuple is several inputs.
    """

    ssa: SSA
    result: ValueKind
    sizes: Mapping[str, int]
    slots: tuple[str, ...]
    constants: Mapping[str, Any]
    arguments: tuple[tuple[str, Meaning], ...]
    is_valid: Callable[[], bool]
    program: TensorProgram | None = None
    gathers: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    tables: Mapping[str, RelationToMake] = field(default_factory=dict)
    index_relations: dict[str, tuple[np.ndarray, Relation]] = field(default_factory=dict)
    made_relations: dict[str, tuple[dict[str, Entries], Relation]] = field(default_factory=dict)
    runners: dict[str, NumpyProgram] = field(default_factory=dict)
    derived: dict[Any, Instance] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[str, ...]:
        return output_names(self.ssa.output)

    def values(self, given: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Relation]]:
        """Return the inputs and the relations of a call by name, from its arrays and relations one by one."""
        found = {name: runtime_form(name, x) for name, x in self.constants.items()}
        if len(given) != len(self.slots):
            raise CotangentError(
                f"got {len(given)} arrays, but {len(self.slots)} are needed: {', '.join(self.slots)}. "
                "A cotangent must have the parts of the value"
            )
        found |= zip(self.slots, given, strict=True)
        relations = {name: x for name, x in found.items() if isinstance(x, Relation)}
        relations |= {name: self.index_relation(name, of, found[of], size) for name, (of, size) in self.gathers.items()}
        inputs = {name: x for name, x in found.items() if name not in relations}
        for name, table in self.tables.items():
            relations[name] = self.existential_relation(name, table, relations)
        return inputs, relations

    def existential_relation(self, name: str, table: RelationToMake, relations: Mapping[str, Relation]) -> Relation:
        """Return the relation of an ∃ in a predicate, cached while the `relations` it is made of are the same."""
        entries, last = {of: x.entries for of, x in relations.items()}, self.made_relations.get(name)
        if last is None or any(last[0].get(of) is not x for of, x in entries.items()):
            last = self.made_relations[name] = entries, Relation(tabulated(*table, entries), closed=False)
        return last[1]

    def index_relation(self, name: str, of: str, index: np.ndarray, size: int) -> Relation:
        """Return the relation of an array that is used as an index, cached while the array is unchanged."""
        last = self.index_relations.get(name)
        if last is None or not np.array_equal(last[0], index):
            last = self.index_relations[name] = index.copy(), relation_of_index_array(of, index, size)
        return last[1]

    def run(
        self, given: Sequence[Any], backend: Backend | Literal["reference"]
    ) -> tuple[list[np.ndarray], dict[str, Relation]]:
        """Run the program on `given` by a back end; return the arrays of its results, and the relations by name."""
        inputs, relations = self.values(given)
        self.check(inputs)
        if backend == "reference":
            return self._evaluated(inputs, relations), relations
        arrays = {f"in.{name}": x for name, x in inputs.items()}
        entries = {name: x.entries for name, x in relations.items()}
        dtype = np.result_type(*arrays.values()) if arrays else np.dtype(float)
        results = flat_arrays(self.runner(backend, relations)(arrays, entries))
        return [copy_if_shared(x, arrays.values(), dtype) for x in results], relations

    def check(self, inputs: Mapping[str, Any]) -> None:
        """Check shapes. Errors: CotangentError for a cotangent or tangent of another shape than its primal."""
        for name, shape in self.shapes.items():
            if np.shape(inputs[name]) != shape:
                raise CotangentError(
                    f"{name} has the shape {np.shape(inputs[name])}, but its primal has the shape {shape}"
                )

    @computed_once
    def shapes(self) -> dict[str, tuple[int, ...]]:
        sizes = self.sizes
        return {x: tuple(n.substitute(sizes).constant for n in shape_of_type(of)) for x, of in self.ssa.inputs}

    def runner(self, backend: Backend, relations: Mapping[str, Relation]) -> NumpyProgram:
        if backend not in self.runners:
            self.runners[backend] = build_program(self.plan(relations), backend)
        return self.runners[backend]

    def plan(self, relations: Mapping[str, Relation]) -> Plan:
        return plan(self.ssa, self.sizes, {name: x.entries.count for name, x in relations.items()})

    def _evaluated(self, inputs: Mapping[str, Any], relations: Mapping[str, Relation]) -> list[np.ndarray]:
        tables = {name: x.dense for name, x in relations.items()}
        return [np.asarray(x)[()] for x in flat_arrays(evaluate_ssa(self.ssa, inputs, self.sizes, tables))]

    def cost(self, relations: Mapping[str, Relation], sizes: Mapping[str, int] | None = None) -> int:
        tables = {name: x.dense for name, x in relations.items()}
        return ssa_cost(self.ssa, {**self.sizes, **(sizes or {})}, tables)

    # ---- derived programs ----

    def adjoint(self, wanted: Sequence[Meaning], single: bool) -> Instance:
        """Return the program of the cotangents of these arguments; those of the result are further arguments."""
        cotangent = unused_name("y_bar", [name for name, _ in self.ssa.inputs])
        made = adjoint_program(self.ssa, inputs_of(wanted), cotangent).ssa
        kinds = tuple(map(kind_of, wanted))
        return self.with_arguments(separate_pairs(made, made.inputs[-1][0]), kinds[0] if single else TupleKind(kinds))

    def differential(self, wanted: Sequence[Meaning]) -> Instance:
        """Return the program of the result's tangent; the tangents of these arguments are further arguments."""
        return self.with_arguments(differential(self.ssa, inputs_of(wanted)), self.result)

    def gauss_newton(self, wanted: Sequence[Meaning], single: bool) -> Instance:
        """Return the program of JᵀJ times the tangents of these arguments, which are further arguments."""
        kinds = tuple(map(kind_of, wanted))
        made = gauss_newton(self.ssa, inputs_of(wanted))
        return self.with_arguments(made, kinds[0] if single else TupleKind(kinds))

    def jacobian(self, wanted: Meaning) -> Instance:
        """Return the program of the derivatives by each element of an argument, whose axes are last in the results."""
        (name,) = inputs_of([wanted])
        return self.with_arguments(jacobian_program(self.ssa, name), kind_with_elements(self.result, kind_of(wanted)))

    def with_arguments(self, ssa: SSA, kind: ValueKind) -> Instance:
        """Return the instance of the derived `ssa`; its inputs beyond those of this instance are further arguments."""
        more = ssa.inputs[len(self.ssa.inputs) :]
        arguments = tuple((name, Value(Var(name), kind_of_type(of))) for name, of in more)
        slots = (*self.slots, *[name for name, _ in more])
        every = (*self.arguments, *arguments)
        return replace(
            self, ssa=ssa, result=kind, slots=slots, arguments=every, program=None, runners={}, derived={}
        )  # fmt: skip

    def with_value(self, derived: Instance) -> Instance:
        """Return the program whose result is a tuple: this one's value and the result of `derived`."""
        both = replace(derived.ssa, output=(self.ssa.output, derived.ssa.output))
        return replace(derived, ssa=both, result=TupleKind((self.result, derived.result)), runners={}, derived={})

    def seeded(self) -> Instance:
        """Return the program with the constant 1 in place of its last argument."""
        name = self.slots[-1]

        def with_seed(statement: Statement) -> Statement:
            loads_it = statement.form == Load(Var(name), ())
            return replace(statement, form=Fill(TRUE, 1)) if loads_it else statement

        statements = tuple(map(with_seed, self.ssa.statements))
        inputs = tuple(pair for pair in self.ssa.inputs if pair[0] != name)
        ssa = replace(self.ssa, statements=statements, inputs=inputs)
        return replace(self, ssa=ssa, slots=self.slots[:-1], arguments=self.arguments[:-1], runners={}, derived={})


def unused_name(name: str, taken: Container[str]) -> str:
    """Return `name`, with underscores appended until it is none of `taken`."""
    while name in taken:
        name += "_"
    return name


def has_derivative(meaning: Meaning) -> bool:
    """Whether there is a derivative by an argument of this meaning: it is made of numbers."""
    if isinstance(meaning, Group):
        return all(map(has_derivative, meaning.parts))
    return isinstance(meaning, Value)


def inputs_of(wanted: Sequence[Meaning]) -> tuple[str, ...]:
    """Return the names of the inputs that these arguments are made of, one by one."""
    return tuple(name for meaning in wanted for name in _input_names(meaning))


def _input_names(meaning: Meaning) -> Iterator[str]:
    if isinstance(meaning, Group):
        for part in meaning.parts:
            yield from _input_names(part)
    else:
        assert isinstance(meaning, Value)
        assert isinstance(meaning.expr, Var)
        yield meaning.expr.name


def kind_of(meaning: Meaning) -> ValueKind:
    if isinstance(meaning, Group):
        return TupleKind(tuple(map(kind_of, meaning.parts)))
    assert isinstance(meaning, Value)
    return meaning.kind


def kind_with_elements(kind: ValueKind, by: ValueKind) -> ValueKind:
    """Return `kind` with the kind `by` in place of each number."""
    if isinstance(kind, TensorKind):
        return TensorKind(kind.size, kind_with_elements(kind.of, by))
    return TupleKind(tuple(kind_with_elements(part, by) for part in kind.parts)) if isinstance(kind, TupleKind) else by


def kind_of_type(of: Type) -> ValueKind:
    """Return the kind of a value of this type, a number or an array of numbers."""
    return TensorKind(of.size, kind_of_type(of.of)) if isinstance(of, TensorType) else REAL_KIND


def separate_pairs(ssa: SSA, name: str) -> SSA:
    """Replace the input `name`, made of pairs, by one input for each of its parts."""
    *others, (_, of) = ssa.inputs
    taken = {name for name, _ in ssa.inputs} | {statement.name for statement in ssa.statements}
    new = {path: (fresh_name(f"{name}_{k}", taken), part) for k, (path, part) in enumerate(projections(Var(name), of))}
    if list(new) == [Var(name)]:
        return ssa

    def input_of(statement: Statement) -> Statement:
        form = statement.form
        if not isinstance(form, Load) or form.of not in new:
            return statement
        return replace(statement, form=Load(Var(new[form.of][0]), form.at))

    return replace(ssa, statements=tuple(map(input_of, ssa.statements)), inputs=(*others, *new.values()))


def projections(of: Expr, type_of: Type) -> Iterator[tuple[Expr, Type]]:
    """Yield the arrays that an input `of` is made of, as projections of it, each with its type."""
    if isinstance(type_of, PairType):
        yield from projections(Proj(0, of), type_of.left)
        yield from projections(Proj(1, of), type_of.right)
    else:
        yield of, type_of


def instance_of(parsed: Any) -> Instance:
    """Return the instance of a program that was read from a function."""
    slots = tuple(name for name in parsed.values if name not in parsed.constants)
    constants = {name: parsed.values[name] for name in parsed.constants}
    arguments = tuple(parsed.arguments.items())
    program = parsed.program
    known = to_ssa(program), parsed.result, parsed.sizes, slots, constants, arguments, parsed.is_valid
    return Instance(*known, program, parsed.gathers, parsed.tables)


def copy_if_shared(result: Any, inputs: Iterable[Any], dtype: np.dtype) -> Any:
    """Return a result as a number, or as an array of this dtype that shares no memory with an input.

    A result that owns its memory is a new array, unless it is an input itself.
    """
    array = np.asarray(result, dtype)
    if not array.ndim:
        return array[()]
    if array.base is None:
        return array.copy() if any([array is x for x in inputs]) else array
    return array.copy() if any(np.may_share_memory(array, x) for x in inputs) else array


def flat_arrays(x: Any) -> Iterator[Any]:
    """Yield the arrays in a result, in order."""
    if isinstance(x, tuple):
        for part in x:
            yield from flat_arrays(part)
    else:
        yield x


def nest_arrays(kind: ValueKind, arrays: Iterator[Any]) -> Any:
    """Nest arrays as the function returns them, by the kind of its result; an array of tuples is a tuple of arrays."""
    while isinstance(kind, TensorKind):
        kind = kind.of
    return tuple([nest_arrays(part, arrays) for part in kind.parts]) if isinstance(kind, TupleKind) else next(arrays)
