"""Plans as compiled loop nests, by numba (the extra `native`); compiled code is kept on disk.

A plan's sizes are constants of its kernels, so each set of sizes is compiled for itself.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from wengert.errors import WengertError
from wengert.tensor.native_source import NativeSource
from wengert.tensor.numpy_backend import NumpyProgram, support
from wengert.tensor.plan import Plan
from wengert.tensor.walks import Entries
from wengert.tensor.workspace import Workspaces

HELPERS = """
def first_of(keys, key):
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


def find(keys, table, key):
    if len(table):
        return table[key]
    at = first_of(keys, key)
    return at if at < len(keys) and keys[at] == key else -1
"""


class NativeUnavailableError(WengertError, ImportError):
    """Compiled loops were asked for, and there is no compiler."""


@lru_cache
def has_compiler() -> bool:
    return importlib.util.find_spec("numba") is not None


@dataclass
class NativeProgram(NumpyProgram):
    """As a NumPy program, with the walks of relations that its kernels take.

    `otherwise` runs instead where the compiler refuses a black box. Errors: NativeUnavailableError where there is none.
    """

    walks: Mapping[str, tuple[str, tuple[int, ...], str]] = field(default_factory=dict)
    otherwise: NumpyProgram | None = None
    refused: bool = False
    workspaces: Workspaces = field(default_factory=Workspaces, repr=False)

    def __call__(self, inputs: Mapping[str, Any], relations: Mapping[str, Entries]) -> Any:
        if not self.refused:
            try:
                return self.in_loops(inputs, relations)
            except Exception as error:
                if not type(error).__module__.startswith("numba."):
                    raise
                if self.otherwise is None:
                    raise NativeUnavailableError(
                        "numba cannot compile a black box of this program: choose backend='numpy'"
                    ) from error
                self.refused = True
        assert self.otherwise is not None
        return self.otherwise(inputs, relations)

    def in_loops(self, inputs: Mapping[str, Any], relations: Mapping[str, Entries]) -> Any:
        known, points = self.prepared(relations)
        arrays = {name: np.ascontiguousarray(x) if np.ndim(x) else np.asarray(x) for name, x in inputs.items()}
        walks = {key: _part(known[r], order, part) for key, (r, order, part) in self.walks.items()}
        with self.workspaces.one() as space:
            return self.function(arrays, known, points, walks, space)


def _part(relation: Entries, order: tuple[int, ...], part: str) -> np.ndarray:
    if part == "mask":
        return relation.mask
    walk = relation.walk(order)
    return walk.coordinates[int(part[6:])] if part.startswith("column") else getattr(walk, part)


def compiled(plan: Plan, interpreted: bool = False) -> NativeProgram:
    """Errors: NativeUnavailableError without numba; interpreted runs the same loops in Python instead."""
    if not interpreted and not has_compiler():
        raise NativeUnavailableError(
            "the native backend compiles loops with numba, which is not installed: "
            "pip install 'wengert[native]', or choose backend='numpy'"
        )
    source = NativeSource(plan, 1 if interpreted else _threads())
    driver = source.text().replace("(inputs, relations, points):", "(inputs, relations, points, walks, space):")
    kernels = "\n\n".join([HELPERS.strip(), *source.kernels])
    space: dict[str, Any] = {"np": np, **support(), **source.functions}
    space |= _interpreted(kernels, source) if interpreted else _compiled(kernels, source)
    exec(compile(driver, "<tensor program>", "exec"), space)
    return NativeProgram(plan, f"{kernels}\n\n{driver}", space["run"], source.listed, walks=source.walks)


def _threads() -> int:
    import numba

    return int(numba.config.NUMBA_NUM_THREADS)


def _interpreted(kernels: str, source: NativeSource) -> dict[str, Any]:
    space: dict[str, Any] = {"np": np, "prange": range, **source.functions}
    exec(compile(kernels, "<tensor kernels>", "exec"), space)
    return space


def _compiled(kernels: str, source: NativeSource) -> dict[str, Any]:
    options = f"fastmath={{'reassoc', 'contract', 'nsz', 'arcp'}}, error_model='numpy', cache={not source.functions}"
    outer = f"@njit({options}, parallel={source.parallel})\n"
    text = "import numpy as np\nfrom numba import njit, prange\n\n\n"
    text += kernels.replace("def find", f"@njit({options})\ndef find").replace(
        "def first_of", f"@njit({options})\ndef first_of"
    )
    text = text.replace("def kernel", f"{outer}def kernel")
    module = _module(text)
    for name, function in source.functions.items():
        setattr(module, name, _jitted(function))
    return vars(module)


def _jitted(function: Any) -> Any:
    """Compiled, with what a partial calls."""
    import numba

    called = getattr(function, "calls", {})
    if not called:
        return numba.njit(function)
    space = {name: _jitted(f) if isinstance(f, types.FunctionType) else f for name, f in called.items()}
    return numba.njit(types.FunctionType(function.__code__, function.__globals__ | space))


def cache_folder() -> Path:
    base = os.environ.get("WENGERT_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "wengert")
    return Path(base).expanduser() / "tensor"


def _module(text: str) -> types.ModuleType:
    """The text as a module of its own file: numba keeps what it compiles beside it."""
    name = f"kernels_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    path = cache_folder() / f"{name}.py"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_text(text)
        draft.replace(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # code read from the disk finds its module by name
    spec.loader.exec_module(module)
    return module
