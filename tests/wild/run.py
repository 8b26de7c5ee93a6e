"""Judge the cases of all packages, or of those named: `python tests/wild/run.py [package…] [--write]`.

Each package has a process of its own, so that the first gradient is a first one and a crash is that of its case. With
`--write`, the table of docs/wild.md is written anew.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "src"), str(ROOT / "rules")]

from case import cases_of, packages  # noqa: E402
from verdict import Verdict, judge  # noqa: E402

LIMIT = 300


def main(words: list[str]) -> None:
    """Judge, print each case that is not right as it comes, then a table by package."""
    names = [word for word in words if not word.startswith("--")] or packages()
    if "--one" in words:
        return one(names[0])
    with ThreadPoolExecutor(2) as pool:
        verdicts = [verdict for found in pool.map(judged, names) for verdict in shown(found)]
    print("\n".join(table(verdicts)))
    if "--json" in words:
        (ROOT / "wild.json").write_text(json.dumps(verdicts))
    if "--write" in words:
        write(verdicts)


def one(package: str) -> None:
    for case in cases_of(package):
        print(json.dumps(judge(package, case)), flush=True)


def judged(package: str) -> list[Verdict]:
    """The verdicts on a package's cases, in a process of its own; where it ends early, a crash."""
    command = [sys.executable, str(HERE / "run.py"), package, "--one"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        out, told = ran.stdout, ran.stderr[-300:] if ran.returncode else ""
    except subprocess.TimeoutExpired as late:
        out, told = (late.stdout or b"").decode(), f"more than {LIMIT} s"
    found = [Verdict(*json.loads(line)) for line in out.splitlines() if line.startswith(f'["{package}"')]
    found = [verdict._replace(package=package.rstrip("_")) for verdict in found]
    return [*found, Verdict(package, "?", "crash", told.replace("\n", " | "))] if told else found


def shown(verdicts: list[Verdict]) -> list[Verdict]:
    for v in verdicts:
        if v.word != "right" or v.slow:
            times = f"{v.first:.1f} s first, {v.second * 1e3:.0f} ms, untraced {v.plain * 1e3:.1f} ms"
            print(f"{v.package}.{v.case}: {v.tells or v.word}{' SLOW ' + times if v.slow else ''}", flush=True)
    return verdicts


WORDS = ("right", "refused", "wrong", "changed", "crash")


def table(verdicts: list[Verdict]) -> Iterator[str]:
    """The lines of a table by package."""
    yield "| package | cases | right | refused | wrong | changed | crash | slow |"
    yield "|---|---|---|---|---|---|---|---|"
    for package in [*sorted({v.package for v in verdicts}, key=str.lower), "**all**"]:
        of = [v for v in verdicts if package in (v.package, "**all**")]
        counts = [sum(v.word == word for v in of) for word in WORDS[:-1]]
        rest = len(of) - sum(counts)
        cells = [len(of), *counts, rest, sum(v.slow for v in of)]
        yield f"| {package} | {' | '.join(str(n or '') for n in cells)} |"


def write(verdicts: list[Verdict]) -> None:
    page = ROOT / "docs" / "wild.md"
    before, _, rest = page.read_text().partition("<!-- table -->\n")
    _, _, after = rest.partition("<!-- end -->\n")
    page.write_text(before + "<!-- table -->\n" + "\n".join(table(verdicts)) + "\n<!-- end -->\n" + after)


if __name__ == "__main__":
    main(sys.argv[1:])
