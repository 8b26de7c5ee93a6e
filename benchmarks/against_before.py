"""Gradients by this checkout and by an earlier revision of it, on the works of `against_autograd.py`, in turns.

Each has a process of its own: both load parts of the package late. Run by hand:
`python benchmarks/against_before.py REVISION [repeats]`; needs git. Times are in milliseconds.
"""

import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from functools import partial
from pathlib import Path

from clock import SAMPLE, WARM_UP, seconds

ROOT = Path(__file__).resolve().parent.parent


def checked_out(revision, folder):
    """The sources of a revision, in a folder."""
    parts = ["src", "rules", "benchmarks"]
    archive = subprocess.run(["git", "-C", ROOT, "archive", revision, *parts], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return Path(folder)


class Checkout:
    """A process that times works by its own copy of the package."""

    def __init__(self, root):
        paths = os.pathsep.join([str(root / part) for part in ("src", "rules", "benchmarks")])
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            env=os.environ | {"PYTHONPATH": paths}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def seconds(self, name):
        """The seconds that a run of the work of this name takes."""
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def works():
    """The gradients and the untraced runs that a checkout is measured by."""
    import against_autograd

    import wengert as wg

    made = {}
    for name, make, namespace, _ in against_autograd.GATES:
        f, args = make(namespace)
        made[name] = partial(wg.value_and_grad(f, argnums=tuple(range(len(args)))), *args)
        made[f"{name}, untraced"] = partial(wg.value_and_grad(untraced), 0.0, f, args)
    return made


def untraced(dummy, f, args):
    """Work in which nothing depends on the traced argument."""
    for _ in range(20):
        f(*args)
    return dummy


def serve():
    """Print the names of the works, then the seconds of each that is asked for."""
    made, counts = works(), {}
    print("|".join(made), flush=True)
    for line in sys.stdin:
        work = made[line.rstrip("\n")]
        if line not in counts:
            first = seconds(work, 1)
            taken = min([seconds(work, max(1, round(WARM_UP / first))) for _ in range(3)])
            counts[line] = max(1, round(SAMPLE / taken))
        print(seconds(work, counts[line]), flush=True)


def main(revision, repeats):
    with tempfile.TemporaryDirectory() as folder:
        checkouts = Checkout(checked_out(revision, folder)), Checkout(ROOT)
        names, _ = [checkout.process.stdout.readline().rstrip("\n").split("|") for checkout in checkouts]
        print(f"{'gradient of':22}{'before':>10}{'now':>10}{'ratio':>8}")
        for name in names:
            rounds = [[checkout.seconds(name) for checkout in checkouts] for _ in range(repeats)]
            before, now = map(statistics.median, zip(*rounds, strict=True))
            print(f"{name:22}{1e3 * before:10.3f}{1e3 * now:10.3f}{now / before:8.3f}", flush=True)
        for checkout in checkouts:
            checkout.process.communicate()


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 41)
