"""Twins that a later process reads are those that it would make."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json.decoder
import marshal
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from wengert.compiling.watched.hooks import WATCHING_HOOKS
from wengert.hooks.code_swap import HOOKS
from wengert.rewrite import original, rewriter
from wengert.rewrite.kept_twins import pack_twin, unpack_twin
from wengert.rewrite.rewriter import Rewriter

SCRIPT = """
import sys
import numpy as np
import wengert as wg

def f(x):
    total = 0.0
    for k in range(3):
        total = total + np.sin(x[k]) * FACTOR if k not in {1, 7} else total - (lambda y: y * y)(x[k])
    match x[0] > 0.0:
        case True:
            return total
    return total * 2.0

print(wg.value_and_grad(f)(np.array([0.5, 1.5, -2.0])), "bytecode" in sys.modules)
"""

OPTIONS = [(False, False, False), (True, False, False), (True, True, False), (True, False, True)]


def inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from inner(const)


def assert_same(a: CodeType, b: CodeType) -> None:
    """Assert that twins are the same, with the same constants, in the same order."""
    assert a.replace(co_consts=()) == b.replace(co_consts=())
    assert [*a.co_positions()] == [*b.co_positions()]
    for x, y in zip(a.co_consts, b.co_consts, strict=True):
        if isinstance(x, CodeType):
            assert_same(x, y)
        else:
            assert type(x) is type(y)
            assert x is y or (x == y and getattr(x, "__dict__", None) == getattr(y, "__dict__", None))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("module", [inspect, json.decoder, dataclasses, contextlib], ids=lambda module: module.__name__)
def test_a_kept_twin_is_the_made_one(module: Any, options: tuple[bool, bool, bool]) -> None:
    hooks = WATCHING_HOOKS if options[2] else HOOKS
    own = Rewriter(hooks, *options)
    kept = 0
    for code in inner(compile(inspect.getsource(module), module.__file__, "exec")):
        twin = own.twin(code)
        again = unpack_twin(marshal.loads(marshal.dumps(pack_twin(twin, code, hooks))), code, hooks, own.nested)
        assert_same(again, twin)
        for const in code.co_consts:
            assert isinstance(const, CodeType) or any(const is other for other in again.co_consts) == any(
                const is other for other in twin.co_consts
            )
        kept += 1
    assert kept > 10


def test_a_number_too_long_to_print_is_no_error() -> None:
    code = compile(f"x = 0x{'f' * 5000}", "file", "exec")
    assert original(rewriter.rewriter_of(HOOKS, True).twin(code)) is code


def test_a_hook_of_two_names_is_not_kept() -> None:
    code = (lambda a, b: a * b).__code__
    hooks = {**HOOKS, "mul": HOOKS["add"]}
    twin = Rewriter(hooks, False, False, False).twin(code)
    with pytest.raises(ValueError, match="unmarshallable"):
        marshal.dumps(pack_twin(twin, code, hooks))


def run(script: Path, **environment: str) -> str:
    paths = [str(Path(__file__).parents[2] / folder) for folder in ("src", "rules")]
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    own |= {"PYTHONPATH": os.pathsep.join(paths), "WENGERT_CACHE": str(script.parent / "cache"), **environment}
    return subprocess.run([sys.executable, script], env=own, capture_output=True, text=True, check=True).stdout


def test_a_later_process_rewrites_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("FACTOR", "1.0"))
    first, second, other = run(script), run(script), run(script, PYTHONHASHSEED="7")
    assert first.replace("True", "False") == second == other
    assert "True" in first


def test_a_changed_script_is_rewritten(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("FACTOR", "1.0"))
    state = script.stat()
    first = run(script)
    script.write_text(SCRIPT.replace("FACTOR", "2.0"))
    os.utime(script, ns=(state.st_atime_ns, state.st_mtime_ns))  # of the same size and time
    second = run(script)
    assert "True" in second
    assert first != second
    assert second == run(script, WENGERT_CACHE=str(tmp_path / "other"))


def test_a_damaged_file_is_not_used(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("FACTOR", "1.0"))
    first = run(script)
    for path in (tmp_path / "cache" / "code").iterdir():
        content = path.read_bytes()
        path.write_bytes(content[:-3] + b"abc")
    assert run(script) == first  # True: it was rewritten


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_folder_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    script, folder = tmp_path / "script.py", tmp_path / "cache" / "code"
    script.write_text(SCRIPT.replace("FACTOR", "1.0"))
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert run(script) == run(script)
    assert not [*folder.iterdir()]


def test_nothing_is_written_where_python_writes_no_bytecode(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("FACTOR", "1.0"))
    assert run(script, PYTHONDONTWRITEBYTECODE="1") == run(script, PYTHONDONTWRITEBYTECODE="1")
    assert not [*tmp_path.glob("cache/code/*")]


def test_code_from_no_file_has_one_pack(tmp_path: Path) -> None:
    script, text, counts = tmp_path / "script.py", SCRIPT.replace("FACTOR", "1.0"), []
    for cells in (1, 3):
        script.write_text(f"for k in range({cells}):\n    exec(compile({text!r}, f'<cell {{k}}>', 'exec'))")
        first, second = run(script), run(script)
        assert first.replace("True", "False") == second
        counts.append(len([*tmp_path.glob("cache/code/*")]))
    assert counts[0] == counts[1]
