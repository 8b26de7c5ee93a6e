"""Run so many of the programs of `outside_programs.py` from a seed on: `python tests/fuzz/fuzz_outside.py 0 1000`."""

import collections
import sys

from outside_programs import Fuzzed

first, number = int(sys.argv[1]), int(sys.argv[2])
calls = hits = wrong = 0
reasons: collections.Counter[str] = collections.Counter()
for seed in range(first, first + number):
    fuzzed = Fuzzed(seed)
    for _ in range(8):
        said = fuzzed.step()
        if said is not None:
            wrong += 1
            print(f"seed {seed}: {said}")
            break
        fuzzed.change()
    calls, hits = calls + fuzzed.calls, hits + fuzzed.hits
    reasons[fuzzed.g.explain().partition("runs uncompiled: ")[2].partition(": ")[2]] += 1
print(f"{number} programs, {calls} calls, {hits} hits, {wrong} wrong")
print(*reasons.most_common(40), sep="\n")
