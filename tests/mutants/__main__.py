"""Whether the tests find mistakes: `python -m tests.mutants` makes each mutant and prints the tier that kills it.

It ends with 1 if one survives the default tier. See `--help`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

from tests.mutants.areas import AREAS, KILLED_BY, KILLERS, ROOT, Area
from tests.mutants.mutating import Mutant, drawn

COPIED = ("src", "rules", "tests", "benchmarks", "examples", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")
LONG = 300
"""Seconds after which a run hangs, which kills the mutant."""
OPTIONS = {"fast": ["-m", "fast"], "default": [], "all": ["--all"]}
_moments = itertools.count(1)


class Tree:
    """A copy of the project, in which one mutant at a time is made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in COPIED:
            copy: Any = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)

    def killed(self, mutant: Mutant, tiers: list[str], tests: list[tuple[str, ...]]) -> tuple[str, str]:
        """The first tier of which one of these tests fails, and that test."""
        path = self.folder / mutant.file
        source = path.read_text()
        try:
            self._write(path, mutant.applied(source))
            for tier in tiers:
                for together in tests:
                    found = self._fails(tier, together)
                    if found:
                        return tier, found
        finally:
            self._write(path, source)
        return "", "nothing"

    def _write(self, path: Path, source: str) -> None:
        path.write_text(source)
        moment = time.time() + next(_moments)  # Python looks at the second and the size to tell whether a file changed
        os.utime(path, (moment, moment))

    def _fails(self, tier: str, tests: tuple[str, ...]) -> str:
        command = [sys.executable, "-m", "pytest", "-xq", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
        try:
            run = subprocess.run(
                [*command, *OPTIONS[tier], *tests], cwd=self.folder, capture_output=True, text=True, timeout=LONG
            )
        except subprocess.TimeoutExpired:
            return f"{_function(tests[0])}[hangs]"
        if run.returncode == 0:
            return ""
        found = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
        return found[1] if found else "its import"


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, help="only so many, the same ones each time")
    parser.add_argument("--area", help=f"only those of {', '.join([area.name for area in AREAS])}")
    parser.add_argument("--only", default="", help="only those whose name contains this")
    parser.add_argument("--tiers", default="default", help="of fast, default, all: one after the other")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs beside one another")
    parser.add_argument("--record", action="store_true", help="write which tests killed them into killers.json")
    parser.add_argument("--list", action="store_true", help="print them")
    given = parser.parse_args()
    asked = [area for area in AREAS if given.area in (None, area.name)]
    areas = {mutant: area for area in asked for mutant in area.mutants() if given.only in mutant.id}
    mutants = [*areas] if given.sample is None else drawn([*areas], given.sample, KILLERS)
    if given.list:
        print(*[mutant.id for mutant in mutants], sep="\n")
        return 0
    return _run(mutants, areas, given)


def _run(mutants: list[Mutant], areas: dict[Mutant, Area], given: argparse.Namespace) -> int:
    rows: dict[str, Counter[str]] = {}
    jobs = given.jobs
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        trees: Queue[Tree] = Queue()
        for k in range(jobs):
            (made := Path(folder, str(k))).mkdir()
            trees.put(Tree(made))

        def judge(mutant: Mutant) -> str:
            tree, began = trees.get(), time.monotonic()
            try:
                first = [(KILLERS[mutant.id],)] if mutant.id in KILLERS else []
                tests = [*first, *[(test,) for test in areas[mutant].tests]]
                tier, test = tree.killed(mutant, given.tiers.split(","), tests)
            finally:
                trees.put(tree)
            if tier and "::" in test and not KILLERS.get(mutant.id, "").startswith(f"{_function(test)}["):
                KILLERS[mutant.id] = _function(test)
            rows.setdefault(areas[mutant].name, Counter())[tier or "SURVIVED"] += 1
            print(f"{tier or 'SURVIVED':8} {time.monotonic() - began:4.0f} s  {mutant.id}  {test}", flush=True)
            return tier

        survived = [*pool.map(judge, mutants)].count("")
    if given.record:
        KILLED_BY.write_text(json.dumps(dict(sorted(KILLERS.items())), indent=1) + "\n")
    print()
    for name, row in rows.items():
        print(f"{name:30} {row.total():4}  {', '.join([f'{tier}: {count}' for tier, count in sorted(row.items())])}")
    print(f"{len(mutants) - survived} of {len(mutants)} mutants killed")
    return min(survived, 1)


def _function(test: str) -> str:
    """The test's name without the case, which killers.json may have: a test that is `whole` runs it in each tier."""
    return test.partition("[")[0]


if __name__ == "__main__":
    sys.exit(main())
