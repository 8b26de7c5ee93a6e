"""Compiled is as plain on random programs that read from outside, whatever is changed there between calls."""

from __future__ import annotations

from outside_programs import Fuzzed

CALLS = 8


def run(seeds: range) -> float:
    """Run the programs of these seeds; the share of calls that ran code that was there."""
    calls = hits = 0
    for seed in seeds:
        fuzzed = Fuzzed(seed)
        for _ in range(CALLS):
            said = fuzzed.step()
            assert said is None, f"seed {seed}: {said}"
            fuzzed.change()
        calls, hits = calls + fuzzed.calls, hits + fuzzed.hits
    return hits / calls


def test_compiled_is_as_plain() -> None:
    assert run(range(40)) > 0.4


def test_compiled_is_as_plain_on_more_programs() -> None:
    assert run(range(40, 140)) > 0.4
