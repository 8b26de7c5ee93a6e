"""What the tests of plans and back ends run: programs with numbers, and their values by the evaluator."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from tensor_examples import EXAMPLES
from tensor_random import random_case, random_value

from wengert.tensor.language.terms import TensorProgram
from wengert.tensor.language.typechecking import arrays
from wengert.tensor.passes.adjoint import adjoint_program
from wengert.tensor.passes.ssa import to_ssa
from wengert.tensor.passes.statements import SSA, evaluate_ssa, ssa_cost
from wengert.tensor.planning.plan import Plan, plan


@dataclass
class Run:
    """A program at sizes, with inputs and relations."""

    ssa: SSA
    sizes: dict[str, int]
    inputs: dict[str, Any]
    relations: dict[str, np.ndarray]

    @cached_property
    def value(self) -> Any:
        return evaluate_ssa(self.ssa, self.inputs, self.sizes, self.relations)

    @property
    def model(self) -> int:
        """What the program costs by the cost model."""
        return ssa_cost(self.ssa, self.sizes, self.relations)

    def plan(self, optimise: bool = True, counts: bool = False) -> Plan:
        """counts: knowing how many entries the relations have, as where a function is called."""
        entries = {name: int(np.sum(table)) for name, table in self.relations.items()} if counts else {}
        return plan(self.ssa, self.sizes, entries, optimise)

    @property
    def floats(self) -> dict[str, Any]:
        return {name: as_floats(x) for name, x in self.inputs.items()}


def as_floats(x: Any) -> Any:
    return tuple(map(as_floats, x)) if isinstance(x, tuple) else np.asarray(x, float)


def leaves_of(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, tuple):
        for part in value:
            yield from leaves_of(part)
    else:
        yield np.asarray(value, float)


def assert_same(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    found, expected = list(leaves_of(found)), list(leaves_of(expected))
    assert [x.shape for x in found] == [x.shape for x in expected]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-9)


def completed(
    ssa: SSA, sizes: dict[str, int], inputs: dict[str, Any], relations: dict[str, np.ndarray], seed: int
) -> Run:
    """With numbers for the inputs that have none: cotangents."""
    rng = random.Random(seed)
    more = {name: random_value(arrays(of), sizes, rng) for name, of in ssa.inputs if name not in inputs}
    return Run(ssa, sizes, {**inputs, **more}, relations)


def run_of(
    program: TensorProgram, sizes: dict[str, int], relations: dict[str, np.ndarray], wrt: Any = (), seed: int = 0
) -> Run:
    ssa = to_ssa(program)
    return completed(adjoint_program(ssa, wrt).ssa if wrt else ssa, sizes, {}, relations, seed)


@lru_cache(4)
def random_run(seed: int, reverse: bool) -> Run:
    """The same for each back end: the evaluator runs once."""
    case = random_case(seed, binary=seed % 3 == 0)
    ssa = to_ssa(case.program)
    if reverse:
        ssa = adjoint_program(ssa, [name for name, _ in case.program.inputs]).ssa
    return completed(ssa, case.sizes, case.inputs, case.relations, seed)


def example_run(name: str, sizes: dict[str, int], reverse: bool) -> Run:
    return _example_run(name, tuple(sizes.items()), reverse)


@lru_cache(4)
def _example_run(name: str, given: tuple[tuple[str, int], ...], reverse: bool) -> Run:
    example, sizes = EXAMPLES[name], dict(given)
    relations = {"R": example.relation(**sizes)} if example.relation else {}
    return run_of(example.program, sizes, relations, example.wrt if reverse else ())
