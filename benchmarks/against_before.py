"""Gradients by this checkout and by an earlier revision of it, on the works of `against_autograd.py`, in one process.

Run by hand: `python benchmarks/against_before.py REVISION [repeats]`; needs git. Times are in milliseconds.
"""

import importlib
import io
import subprocess
import sys
import tarfile
import tempfile
from functools import partial
from pathlib import Path

from clock import medians

ROOT = Path(__file__).resolve().parent.parent
OURS = ("wengert", "wengert_rules", "against_autograd")


def checked_out(revision, folder):
    """The sources of a revision, in a folder."""
    parts = ["src", "rules", "benchmarks"]
    archive = subprocess.run(["git", "-C", ROOT, "archive", revision, *parts], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return Path(folder)


def works_of(root):
    """The gradients and the untraced runs that a checkout is measured by, with its own copy of the package."""
    sys.path[:0] = [str(root / part) for part in ("src", "rules", "benchmarks")]
    works = importlib.import_module("against_autograd")
    wg = importlib.import_module("wengert")
    made = {}
    for name, make, namespace, _ in works.GATES:
        f, args = make(namespace)
        made[name] = partial(wg.value_and_grad(f, argnums=tuple(range(len(args)))), *args)
        made[name]()  # the rules are loaded by the first gradient: with this path, not the other's
        made[f"{name}, untraced"] = partial(wg.value_and_grad(untraced), 0.0, f, args)
    del sys.path[:3]
    for module in [module for module in sys.modules if module.partition(".")[0] in OURS]:
        del sys.modules[module]
    return made


def untraced(dummy, f, args):
    """Work in which nothing depends on the traced argument."""
    for _ in range(20):
        f(*args)
    return dummy


def main(revision, repeats):
    with tempfile.TemporaryDirectory() as folder:
        before, after = works_of(checked_out(revision, folder)), works_of(ROOT)
        print(f"{'gradient of':22}{'before':>10}{'now':>10}{'ratio':>8}")
        for name in before:
            t = medians({"before": before[name], "now": after[name]}, repeats)
            times = "".join(f"{1e3 * t[key]:10.3f}" for key in t)
            print(f"{name:22}{times}{t['now'] / t['before']:8.3f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 41)
