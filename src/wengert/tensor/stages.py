"""The text of a program at each stage of its compilation, as `TensorFunction.show` prints it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wengert.errors import TensorLanguageError
from wengert.tensor.instances import Instance
from wengert.tensor.language.notation import show_program
from wengert.tensor.language.terms import TensorProgram
from wengert.tensor.passes.gen_pushout import push_out_gens
from wengert.tensor.passes.let_lifting import lift_lets
from wengert.tensor.passes.pair_elimination import eliminate_pairs
from wengert.tensor.passes.simplify import simplified
from wengert.tensor.passes.statements import show_ssa

PASSES: dict[str, tuple[Callable[[TensorProgram], TensorProgram], ...]] = {
    "program": (),
    "lets": (lift_lets,),
    "pairs": (lift_lets, eliminate_pairs),
    "gens": (lift_lets, eliminate_pairs, push_out_gens),
}

STAGES = (*PASSES, "ssa", "simplified", "plan", "source")


def stage_text(instance: Instance, relations: Mapping[str, Any], stage: str) -> str:
    """Return the text of the program at a stage of its compilation.

    "program" is as it was read; "lets", "pairs" and "gens" are after each pass; "ssa" is in SSA form; "simplified" is
    after simplification; "plan" is as loop nests; "source" is the NumPy code.
    """
    if stage in PASSES and instance.program is not None:
        program = instance.program
        for step in PASSES[stage]:
            program = step(program)
        return show_program(program)
    if stage in PASSES or stage == "ssa":
        return show_ssa(instance.ssa)
    if stage == "simplified":
        return show_ssa(simplified(instance.ssa))
    if stage == "plan":
        return "\n".join(map(str, instance.plan(relations).nests))
    if stage == "source":
        return instance.runner("numpy", relations).text
    raise TensorLanguageError(f"there is no stage {stage!r}; the stages are {', '.join(STAGES)}")
