"""Runs a benchmark and writes what it prints into docs/performance.md, under its name there, with the machine.

Run by hand: `python benchmarks/save.py jacobians [arguments]`.
"""

import datetime
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
LIBRARIES = ("numpy", "scipy", "numba", "autograd", "jax")


def machine() -> str:
    """The day, the libraries, the processor."""
    installed = {found.metadata["Name"].lower() for found in metadata.distributions()}
    versions = [f"{name} {metadata.version(name)}" for name in LIBRARIES if name in installed]
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return (
        f"{datetime.date.today()}: CPython {platform.python_version()}, {', '.join(versions)}\n"
        f"{processor[1] if processor else platform.processor()}, {os.cpu_count()} cores, 1 thread\n\n"
    )


def save(name: str, *arguments: str) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *arguments]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    block = re.compile(rf"(`benchmarks/{name}.py`(?:(?!^## ).)*?```text\n).*?^```", re.MULTILINE | re.DOTALL)
    table = machine() + printed.lstrip("\n").rstrip()
    text, found = block.subn(lambda match: f"{match[1]}{table}\n```", PAGE.read_text("utf-8"))
    assert found == 1, f"docs/performance.md has no place for {name}"
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    save(*sys.argv[1:])
