"""Assembled code objects: the same code and positions as those that the package `bytecode` assembles."""

import dataclasses
import inspect
import json.decoder
import types

import pytest

from wengert.hooks.calls import HOOKS
from wengert.rewrite import assembling, rewriting


def long_code():
    """A function of many constants, a long jump, and lines that need each form of location."""
    lines = "".join([f"    x = x + {k}.5\n" for k in range(700)])
    far = "".join([f"  x ={' ' * k}x + 1.5\n" for k in (70, 110, 119, 120, 130, 240, 252, 260)])
    return compile(f"def f(x):\n{far}  while x:\n{lines}  return (x +{' ' * 300}\n\n\n   1)", "f.py", "exec")


def codes(code):
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from codes(part)


def lines_of_units(code):
    """The line of each code unit, as tracers read the table: a byte above 127 begins an entry."""
    return [line for start, end, line in code.co_lines() for _ in range(start, end, 2)]


@pytest.mark.parametrize("module", [inspect, json.decoder, dataclasses, None], ids=["inspect", "json", "data", "long"])
def test_code_is_that_of_the_package(module, monkeypatch):
    compared = []

    def compare(program, stacksize):
        made = assembling.to_code(program, stacksize)
        expected = program.to_code(stacksize=stacksize, compute_exception_stack_depths=False)
        assert made.replace(co_linetable=b"") == expected.replace(co_linetable=b"")
        assert [*made.co_positions()] == [*expected.co_positions()]
        assert lines_of_units(made) == [line for line, *_ in made.co_positions()]
        compared.append(made)
        return made

    monkeypatch.setattr(rewriting, "to_code", compare)
    source = long_code() if module is None else compile(inspect.getsource(module), module.__file__, "exec")
    for code in codes(source):
        rewriting.rewritten(code, HOOKS, rewriting.running_table())
    assert len(compared) > 1
