"""What becomes of a case: whether its value and its gradient, in reverse and forward mode, are right."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from case import Case

import wengert as wg


class Verdict(NamedTuple):
    """A `word`, what tells more, and the CPU seconds of the calls.

    The words: right, refused, wrong, changed, crash, forward; kink and noisy say that the case is no good.
    """

    package: str
    case: str
    word: str
    tells: str = ""
    plain: float = 0.0
    first: float = 0.0
    second: float = 0.0

    @property
    def slow(self) -> bool:
        """Whether the first gradient takes more than 2 s, or a later one 100 times the function, and over 50 ms."""
        return self.first > 2.0 or self.second > max(100 * self.plain, 0.05)


def loss_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` made a function to one number: its results, weighed so that no two count alike."""

    def loss(*args: Any) -> Any:
        parts = f(*args)
        total = 0.0
        for part in parts if isinstance(parts, tuple) else (parts,):
            total = total + (part if np.ndim(part) == 0 else np.sum(part * _weights(np.shape(part))))
        return total

    return loss


def _weights(shape: tuple[int, ...]) -> np.ndarray:
    return 1.0 + 0.5 * np.cos(np.arange(int(np.prod(shape)), dtype=float)).reshape(shape)


def judge(package: str, case: Case) -> Verdict:
    """The Verdict on a case."""
    name, loss = case.f.__name__, loss_of(case.f)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        loss(*copies(case.args))
        plain, value = timed(lambda: loss(*copies(case.args)))
        gradient = wg.value_and_grad(loss, argnums=tuple(range(len(case.args))))
        try:
            first, (traced, got) = timed(lambda: gradient(*copies(case.args)))
            second, _ = timed(lambda: gradient(*copies(case.args)))
            tells = _changed(value, traced) or _wrong(loss, case, got) or _pushed(loss, case, got)
        except wg.WengertError as error:
            return Verdict(package, name, "refused", _said(error), plain)
        except Exception as error:
            return Verdict(package, name, "crash", _said(error), plain)
    return Verdict(package, name, tells.partition(":")[0] or "right", tells, plain, first, second)


def _said(error: Exception) -> str:
    frames = [
        f"{f.filename.rpartition('site-packages/')[2]}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)
    ]
    outside = [at for at in frames if "/wengert/" not in at]
    return f"{type(error).__name__}: {(str(error) or ' ').splitlines()[0]} [{outside[-1] if outside else ''}]"


def timed(f: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = f()
    return time.process_time() - start, result


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def _changed(plain: Any, traced: Any) -> str:
    if np.allclose(plain, traced, rtol=1e-12, atol=0, equal_nan=True):
        return ""
    return f"changed: {plain!r} untraced, {traced!r} traced"


def _wrong(loss: Callable[..., Any], case: Case, got: tuple[Any, ...]) -> str:
    """Where the gradient differs from what the package says, or from differences; empty where it does not."""
    if case.exact is not None:
        wanted = case.exact(*copies(case.args))
        pairs = zip(wanted if isinstance(wanted, tuple) else (wanted,), got, strict=True)
        wrong = [(w, g) for w, g in pairs if not np.allclose(w, g, rtol=case.rtol, atol=case.rtol * np.max(np.abs(w)))]
        return "" if not wrong else f"wrong: {wrong[0][1]!r}, by the package {wrong[0][0]!r}"
    for direction in _directions(case.args):
        expected, error = _difference(loss, case.args, direction)
        pushed = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(got, direction, strict=True))
        scale = sum(float(np.sum(np.abs(np.asarray(g) * d))) for g, d in zip(got, direction, strict=True))
        near = case.rtol * max(scale, abs(expected), 1e-8) + 4 * error
        if not abs(pushed - expected) <= near:
            word = "kink" if _is_kink(loss, case.args, direction) else "wrong"
            return f"{word}: {pushed!r}, by differences {expected!r} ± {error:.1g}"
        if error > 1e-3 * max(abs(expected), scale) and error > 1e-9:
            return f"noisy: differences tell {expected!r} ± {error:.1g}"
    return ""


def _pushed(loss: Callable[..., Any], case: Case, got: tuple[Any, ...]) -> str:
    direction = _directions(case.args)[-1]
    tangents = tuple(type(a)(d) if isinstance(a, float) else d for a, d in zip(case.args, direction, strict=True))
    try:
        _, pushed = wg.jvp(loss, copies(case.args), tangents)
    except wg.WengertError as error:
        return f"forward: {_said(error)}"
    expected = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(got, direction, strict=True))
    scale = sum(float(np.sum(np.abs(np.asarray(g) * d))) for g, d in zip(got, direction, strict=True))
    if np.allclose(pushed, expected, rtol=1e-8, atol=1e-9 * scale):
        return ""
    return f"wrong: forward mode has {pushed!r}, reverse mode {expected!r}"


def _directions(args: tuple[Any, ...]) -> list[list[np.ndarray]]:
    """Some directions in which each argument goes by itself, its first and last number too, and one in which all go.

    Each goes as far as it is large.
    """
    zeros = [np.zeros(np.shape(a)) for a in args]
    sizes = [max(float(np.max(np.abs(a))), 1e-3) for a in args]
    rng = np.random.default_rng(7)
    found = []
    for place, a in enumerate(args):
        alone = [np.where(np.arange(np.size(a)) == k, 1.0, 0.0).reshape(np.shape(a)) for k in {0, np.size(a) - 1}]
        for own in (*alone, rng.uniform(-1, 1, size=np.shape(a))):
            found.append([own * sizes[k] if k == place else z for k, z in enumerate(zeros)])
    found.append([rng.uniform(-1, 1, size=np.shape(a)) * size for a, size in zip(args, sizes, strict=True)])
    return found


def _difference(loss: Callable[..., Any], args: tuple[Any, ...], direction: list[np.ndarray]) -> tuple[float, float]:
    """The derivative along a direction by central differences, extrapolated; and how far two estimates are apart."""

    def central(h: float) -> float:
        moved = [[a + s * h * d for a, d in zip(args, direction, strict=True)] for s in (1, -1)]
        ahead, behind = (loss(*[_like(m, a) for m, a in zip(side, args, strict=True)]) for side in moved)
        return (float(ahead) - float(behind)) / (2 * h)

    best, level = (0.0, np.inf), abs(float(loss(*copies(args))))
    for h in (3e-3, 3e-4, 3e-5, 1e-6):
        whole, half, quarter = central(h), central(h / 2), central(h / 4)
        coarse, fine = (4 * half - whole) / 3, (4 * quarter - half) / 3
        error = abs(fine - coarse) + 4e-16 * level / h
        if error < best[1]:
            best = fine, error
    return best


def _is_kink(loss: Callable[..., Any], args: tuple[Any, ...], direction: list[np.ndarray]) -> bool:
    """Whether the slopes ahead and behind differ, so that the case should be moved elsewhere."""
    at = [float(loss(*[_like(a + h * d, a) for a, d in zip(args, direction, strict=True)])) for h in (-1e-5, 0, 1e-5)]
    behind, ahead = at[1] - at[0], at[2] - at[1]
    return abs(ahead - behind) > 1e-2 * max(abs(ahead), abs(behind))


def _like(moved: Any, a: Any) -> Any:
    return float(moved) if isinstance(a, float) else np.asarray(moved)
