"""Sources of derivatives, run where wengert cannot be imported."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from sampling import Sample

import wengert as wg
from wengert.tape.source import SourceWriter

Case = tuple[str, tuple[Any, ...], dict[str, Any]]


def without_package(name: str, *args: Any) -> Any:
    if name.split(".")[0] in ("wengert", "wengert_rules"):
        raise ImportError(name)
    return builtins.__import__(name, *args)


def run_alone(source: str, args: tuple[Any, ...], constants: dict[str, Any]) -> Any:
    """The result of a source, in a namespace that cannot import wengert."""
    namespace: dict[str, Any] = {"__builtins__": {**vars(builtins), "__import__": without_package}}
    exec(source, namespace)
    return namespace["derivative"](*args, **constants)


def case(tape: Any, args: tuple[Any, ...]) -> Case:
    """The source of a tape, with arguments and the constants that it takes by keyword."""
    source = tape.to_source("derivative")
    assert not re.search(r"^import wengert|wengert_rules|wengert\.", source, re.MULTILINE), source
    writer = SourceWriter(tape.rolled(), sites=False)
    writer.module("derivative")
    return source, args, writer.outside.constants


def total(y: Any) -> Any:
    """A real number that depends on all floats of a result."""
    if isinstance(y, tuple | list):
        return sum(map(total, y))
    if isinstance(y, np.ndarray | np.generic | float | complex) and np.asarray(y).dtype.kind in "fc":
        return np.sum(1.5 * np.real(y) + np.imag(y))
    return 0.0


def same(a: Any, b: Any) -> bool:
    """Whether two results are the same bit for bit; those of a long double do not all count."""
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if type(a) is type(b) and np.asarray(a).dtype.char in "gG":
        return np.array_equal(a, b, equal_nan=True)
    return type(a) is type(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def check_alone(samples: Iterable[Sample]) -> int:
    """Check that the derivative of each sample gives the numbers of its tape; returns how many were checked."""
    checked, wrong = 0, []
    for f, args, kwargs in samples:
        try:
            tape = wg.gradtape(lambda *args, f=f, kwargs=kwargs: total(f(*args, **kwargs)), *args)
            played = tape.play(*args)
        except (wg.WengertError, TypeError):  # what has no derivative in an argument has other tests
            continue
        checked += 1
        try:
            source, *given = case(tape, args)
            got = run_alone(source, *given)
            wrong += [] if same(got, played) else [f"{got}, not {played}:\n{source}"]
        except wg.TapeError as error:
            if "`outline` of wengert.values.results cannot be written" not in str(error):
                wrong.append(str(error))
        except Exception as error:
            wrong.append(f"{error!r}:\n{source}")
    assert not wrong, "\n".join(wrong)
    return checked
