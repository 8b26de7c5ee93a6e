"""A census of compiled functions: how many cases of `tests/wild` compile, what a call costs, and why the others do not.

Run by hand, with the Python of `tests/wild/environment.sh`: `python benchmarks/census.py [package ...]`. Each package
has a process of its own. A case is compiled as NumPy code, and called six times; its gradient is compared with that
of `wg.value_and_grad`. Ratios are those of the last call to the plain function.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "wild"), str(ROOT / "src"), str(ROOT / "rules")]

from case import Case, cases_of, packages  # noqa: E402
from verdict import copies, loss_of, timed  # noqa: E402

import wengert as wg  # noqa: E402

LIMIT = 600  # seconds a package


class Count(NamedTuple):
    """The outcome of a case: "compiled", "partly", "uncompiled", "different" or "no gradient"; why, and times."""

    package: str
    case: str
    word: str
    reason: str = ""
    plain: float = 0.0
    first: float = 0.0
    later: float = 0.0


def counted(package: str, case: Case) -> Count:
    """Compile the gradient of a case, and call it three times."""
    name, loss, wrt = case.f.__name__, loss_of(case.f), tuple(range(len(case.args)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        loss(*copies(case.args))
        plain, _ = timed(lambda: loss(*copies(case.args)))
        gradient = wg.value_and_grad(loss, argnums=wrt)
        compiled: Any = wg.compile(gradient, native=False, quiet=True)
        try:
            expected = gradient(*copies(case.args))
        except Exception as error:
            return Count(package, name, "no gradient", type(error).__name__, plain)
        first, _ = timed(lambda: compiled(*copies(case.args)))
        for _ in range(4):  # functions that an uncompiled one calls are compiled one level a call
            compiled(*copies(case.args))
        later, found = timed(lambda: compiled(*copies(case.args)))
    _, _, reason = compiled.explain().partition("\nruns uncompiled: ")
    pairs = zip((expected[0], *expected[1]), (found[0], *found[1]), strict=True)
    agrees = all([np.allclose(a, b, rtol=1e-8, atol=1e-10, equal_nan=True) for a, b in pairs])
    state = "partly" if compiled.status == "partly compiled" else "uncompiled" if reason else "compiled"
    word = state if agrees else "different"
    return Count(package, name, word, reason, plain, first, later)


def counts_of(package: str) -> list[Count]:
    """Count the cases of a package, in a process of its own."""
    command = [sys.executable, __file__, package, "--one"]
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT).stdout
    except subprocess.TimeoutExpired as late:
        out = (late.stdout or b"").decode()
    return [Count(*json.loads(line)) for line in out.splitlines() if line.startswith(f'["{package}"')]


def causes(counts: list[Count]) -> Iterator[str]:
    """Yield the causes, the most frequent first, without the names in them."""
    found = Counter([re.sub(r"\S+\.py:\d+( in [^:]*)?: |'[^']*'|\([^)]*\)", "", count.reason) for count in counts])
    yield from [f"{number:5}  {cause}" for cause, number in found.most_common()]


def main(words: list[str]) -> None:
    names = [word for word in words if not word.startswith("--")] or packages()
    if "--one" in words:
        for case in cases_of(names[0]):
            print(json.dumps(counted(names[0], case)), flush=True)
        return
    counts: list[Count] = []
    with ThreadPoolExecutor(1) as pool:
        for found in pool.map(counts_of, names):
            counts += found
            for count in found:
                costs = f"{count.later / max(count.plain, 1e-7):.1f} times, first call {count.first:.2f} s"
                print(f"{count.package}.{count.case}: {count.word}, {costs}. {count.reason}", flush=True)
    of = [count for count in counts if count.word != "no gradient"]
    words_of = Counter([count.word for count in counts])
    ratios = [count.later / max(count.plain, 1e-7) for count in of if count.word == "compiled"]
    print("\n".join(causes([count for count in of if count.reason])))
    print(f"{dict(words_of)}; compiled {words_of['compiled'] / max(len(of), 1):.0%} of those with a gradient")
    print(f"median of compiled cases: {statistics.median(ratios or [0]):.1f} times the plain function, "
          f"first call {statistics.median([count.first for count in of] or [0]):.2f} s")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
