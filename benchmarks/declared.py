"""The gain of declared pushforwards and accumulations over those that the engine derives from a rule.

Run by hand: `python benchmarks/declared.py [repeats [least]]`. The first table has each rule that declares a
pushforward, on the first of its samples: the times in microseconds of the declared one and of the one derived from its
partials or by transposing its pullback, and their ratio. The second has each accumulation in place, from the size on at
which the engine uses it, against the pullback's result added to the buffer. A ratio below `least` (1.3) is marked: what
gains less may go, unless the derived one is less exact or, as with products, takes more memory.
"""

import importlib
import operator
import sys
import warnings
from copy import copy
from pathlib import Path

import numpy as np
from clock import medians

import wengert as wg
from wengert.errors import WengertError
from wengert.rulebook.pushforwards import push
from wengert.values.projection import plainly

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / name) for name in ("samples", "scipy_rules", "fuzz", "corpus")]
MODULES = ["samples", *sorted(path.stem for path in (TESTS / "scipy_rules").glob("samples_*.py"))]


def tangent_of(x, random):
    """A tangent of the kind of an argument; None where it has none."""
    if isinstance(x, (tuple, list)):
        return tuple(tangent_of(part, random) for part in x)
    if np.asarray(x).dtype.kind not in "fc":
        return None
    made = random.standard_normal(np.shape(x))
    return made if isinstance(x, np.ndarray) else float(made)


def pushforwards(f, rule, sample):
    """Push tangents through a call by the declared pushforward, and by the derived one."""
    args, kwargs = rule.normalise(sample.args, sample.kwargs)
    y, random = f(*sample.args, **sample.kwargs), np.random.default_rng(1)
    tangents = tuple(tangent_of(x, random) for x in args)
    plain = copy(rule)
    plain.pushforwards = {**rule.pushforwards, "push": None}
    return {
        "declared": lambda: push(plainly, f, rule, y, args, kwargs, tangents),
        "derived": lambda: push(plainly, f, plain, y, args, kwargs, tangents),
    }


def of_samples():
    """Yield the name and the works of each rule that declares a pushforward, for the first sample that has both."""
    seen = set()
    for sample in [sample for name in MODULES for sample in importlib.import_module(name).SAMPLES]:
        rule = wg.rules.get(sample.f)
        if rule is None or id(rule) in seen or rule.forward is None or rule.forward.kind != "declared":
            continue
        try:
            works = pushforwards(sample.f, rule, sample)
            if all(work() is not None for work in works.values()):
                seen.add(id(rule))
                yield rule.primitive, works
        except (WengertError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
            continue  # the sample is none of arrays and numbers alone


def accumulations():
    """Yield the name and the works of each accumulation, on arrays as small as it is used for and larger ones."""
    random = np.random.default_rng(2)
    for side in (64, 512):
        a, b = random.standard_normal((2, side, side))
        rows = random.integers(0, side, side)
        calls = [
            (np.matmul, (a, b), {}), (np.dot, (a, b), {}), (np.multiply, (a, 2.0), {}), (np.multiply, (2.0, a), {}),
            (np.sort, (a,), {}), (np.diagonal, (a,), {}), (np.diag, (a,), {}), (np.trace, (a,), {}),
            (operator.getitem, (a,), {"key": slice(1, None, 2)}), (operator.getitem, (a,), {"key": rows}),
            (np.take, (a,), {"indices": rows}),
        ]  # fmt: skip
        for f, args, static in calls:
            rule = wg.rules.get(f)
            y = f(*args, *static.values())
            for k, accumulator in rule.accumulators.items():
                if np.ndim(args[k]) and np.size(args[k]) >= accumulator.above:
                    yield f"{rule.primitive} {k}, side {side}", onto(rule, accumulator, k, y, args, static)


def onto(rule, accumulator, k, y, args, static):
    """Add the cotangent of argument `k` to a buffer, in place and as the pullback's result."""
    wanted = tuple(place == k for place in range(len(args)))
    back, y_bar, buffer = rule.variant(wanted).call, np.ones(np.shape(y)), np.zeros(np.shape(args[k]))

    def derived():
        return np.add(buffer, back(y_bar, y, *args, **static)[k], out=buffer)

    return {"declared": lambda: accumulator.add(buffer, y_bar, y, *args, **static), "derived": derived}


def print_table(title, rows, repeats, least):
    print(f"{title:48}{'declared':>10}{'derived':>10}{'ratio':>8}")
    for name, works in rows:
        declared, derived = medians(works, repeats).values()
        mark = "  <" if derived / declared < least else ""
        print(f"{name:48}{declared * 1e6:10.1f}{derived * 1e6:10.1f}{derived / declared:8.2f}{mark}", flush=True)


def main(repeats=21, least=1.3):
    warnings.simplefilter("ignore")
    print_table("pushforward of", of_samples(), int(repeats), float(least))
    print_table("accumulation of argument", accumulations(), int(repeats), float(least))


if __name__ == "__main__":
    main(*sys.argv[1:])
