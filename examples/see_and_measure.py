"""A gradient looked at: its tape as a page, which lines take the time, and which hold the memory."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import wengert as wg

cells, steps = 20_000, 30


def flux(u):
    return u * u * np.diff(u, append=u[-1:])


def diffuse(u):
    """Nonlinear diffusion, explicit steps: the gradient keeps what each of them read."""
    for _ in range(steps):
        f = flux(u)
        u = u + 0.1 * np.diff(f, prepend=0.0)
    return u


def misfit(u):
    return np.mean((diffuse(u) - 0.5) ** 2)


def frugal(u):
    return np.mean((wg.checkpoint_loop(lambda u, k: u + 0.1 * np.diff(flux(u), prepend=0.0), u, steps) - 0.5) ** 2)


u = 0.5 + 0.4 * np.sin(np.linspace(0.0, 6.0, cells))
folder = Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp())

page = wg.show(wg.gradtape(misfit, u[:100]), folder / "tape.html")
print(f"{page.name}: {page.stat().st_size // 1000 > 50 and 'one file, without a network'}")

profile = wg.profile(misfit, u)
profile.html(folder / "profile.html")
profile.speedscope(folder / "profile.json")
lines = Path(__file__).read_text().splitlines()
for row in sorted(profile.lines, key=lambda row: -row.calls)[:2]:
    print(f"{row.calls} calls in line {row.what[1]}: {lines[row.what[1] - 1].strip()}")

use = wg.memory(misfit, u)
use.html(folder / "memory.html")
top = use.lines[0]
print(f"{use.peak / 1e6:.0f} MB, {top.nbytes / 1e6:.0f} MB of it in {top.pieces} arrays that line {top.line[1]} made")
print(f"{wg.memory(frugal, u).peak / 1e6:.0f} MB with checkpoints, for the same gradient:", end=" ")
print(np.allclose(wg.grad(misfit)(u), wg.grad(frugal)(u), rtol=1e-12, atol=0.0))
