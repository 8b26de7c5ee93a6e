"""The names that code reads as globals, found without `dis`."""

from __future__ import annotations

import argparse
import dis
import inspect
import types

import pytest

from wengert.values.code_names import global_names_in
from wengert.values.names import is_of_wengert


def read_globals(code: types.CodeType) -> set[str]:
    """What `dis` says that a function and its nested functions read as globals."""
    reading = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
    found = {step.argval for step in dis.get_instructions(code) if step.opname in reading}
    return found.union(*[read_globals(part) for part in code.co_consts if isinstance(part, types.CodeType)])


def test_globals_are_those_that_dis_finds() -> None:
    many = "".join(f"a.b{k} + c{k}\n" for k in range(300))  # whose indices take more than a byte
    in_class = "def f(x):\n class A:\n  y = x + z\n return [len(v) for v in A.y if v.len]"
    for source in (inspect.getsource(argparse), many, in_class, "lambda a: [global_name + a for a in a.other]"):
        code = compile(source, "<test>", "exec")
        assert global_names_in(code) == read_globals(code)


@pytest.mark.parametrize(("module", "is_ours"), [("wengert_rules.fft", True), ("wengert", True), ("wengert_my", False)])
def test_rules_of_a_plugin_are_not_those_of_wengert(module: str, is_ours: bool) -> None:
    def rule(y_bar: float) -> float:
        return y_bar

    rule.__module__ = module
    assert is_of_wengert(rule) == is_ours
