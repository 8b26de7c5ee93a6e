"""What holds for every test: its tier, a limit to what hangs, a garbage collector that does not look through what
pytest keeps, and interrupts that are heard."""

from __future__ import annotations

import datetime
import faulthandler
import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from tiers import CAPS, LONGEST, MANY, Case, Times, battery, cases_of, chosen, parts_of

TESTS = Path(__file__).parent
HANGS = 900
"""Seconds after which a test of a tier with caps is no slow one any more."""
STDERR = pytest.StashKey[int]()
"""The stream of the process, which pytest captures during tests."""
sys.path.remove(str(TESTS))  # pytest's: else the folder `sparse` is the package that Dask looks for

signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell began this in the background, they are ignored


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers", "how much is run: see tests/README.md")
    group.addoption("--all", action="store_true", help="every case of every test")
    group.addoption("--brief", action="store_true", help="half of the default tier, as of a further Python")
    group.addoption("--rotate", nargs="?", const=str(datetime.date.today()), default="", help="another sample: DATE's")
    group.addoption("--case", help="the cases whose id contains this, each as an item of its own")
    group.addoption("--record", action="store_true", help="with --all: write the times into tests/durations.json")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[STDERR] = os.dup(2)
    config.pluginmanager.register(Tier(config), "tier")
    if (cache := getattr(config, "cache", None)) is not None:
        os.environ.setdefault("WENGERT_CACHE", str(cache.mkdir("kernels")))  # one for all processes, and for later runs


class Tier:
    """Chooses what is run, and takes the times."""

    def __init__(self, config: pytest.Config) -> None:
        asked = [name for name in ("all", "brief") if getattr(config.option, name)]
        self.name = (asked or ["fast" if config.option.markexpr == "fast" else "default"])[0]
        self.cap, self.times = CAPS[self.name], Times()
        self.salt, self.case, self.stops = config.option.rotate, config.option.case, config.option.maxfail == 1
        self.records = config.option.record and not hasattr(config, "workerinput")
        self.is_named = any(["[" in arg for arg in config.args])  # a case, which is an item of its own then
        self.spent: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0])

    def pytest_report_header(self) -> str:
        rotated = f", sampled by --rotate={self.salt}" if self.salt else ""
        return f"tier: {self.name}, {self.cap} s a test function{rotated} (see tests/README.md)"

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: pytest.Collector, name: str, obj: Any) -> list[pytest.Item] | None:
        """Take of a parametrized function the cases that the tier has time for, as a battery where they are many."""
        if not name.startswith("test") or not isinstance(collector, pytest.Module):
            return None
        cases = cases_of(obj)
        if cases is None:
            return None
        obj.cases = cases
        if self.case is not None or self.is_named:
            return _each(obj, [case for case in cases if (self.case or "") in case.id])
        count, seconds = self.times.of(collector.path, name)
        marks = [mark.name for mark in getattr(obj, "pytestmark", [])]
        is_whole = self.name in ("default", "all") and "whole" in marks
        share = 1.0 if is_whole or not seconds else min(self.cap / seconds, 1.0)
        sampled = cases if share == 1.0 else chosen(cases, share, f"{self.salt} {name}", self.name == "default")
        alike = not any([case.marks or case.params.keys() < {*signature(obj).parameters} for case in cases])
        if len(cases) < MANY or not alike:
            return _each(obj, sampled)
        items = self._battery(collector, name, obj, sampled, seconds / count * len(sampled))
        return _each(obj, sampled) if items[0].fixturenames else items  # fixtures are for one case each

    def _battery(
        self, collector: pytest.Module, name: str, function: Any, cases: list[Case], seconds: float
    ) -> list[pytest.Item]:
        items = []
        parts = [*parts_of(cases, seconds)]
        for k, part in enumerate(parts, 1):
            run = battery(function, part, self.stops)
            item = pytest.Function.from_parent(
                collector, name=f"{name}[{k} of {len(parts)}]", callobj=run, originalname=name
            )
            item.user_properties.append(("cases", len(part)))
            items.append(item)
        return items

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out each function of which one case takes more than the tier has time for."""
        left = [] if self.is_named else [item for item in items if self.times.of_one(*_of(item)) > LONGEST[self.name]]
        if left:
            config.hook.pytest_deselected(items=left)
            items[:] = [item for item in items if item not in {*left}]
        for item in items if self.name == "fast" else ():
            item.add_marker("fast")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[object]:
        start = _processor_seconds()
        try:
            return (yield)
        finally:
            item.user_properties.append(("seconds", _processor_seconds() - start))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.records and report.when == "call":
            path, _, name = report.nodeid.partition("::")
            row, known = self.spent[path, name.partition("[")[0]], dict(report.user_properties)
            row[0] += known.get("cases", 1)
            row[1] += known["seconds"]

    def pytest_sessionfinish(self) -> None:
        if self.records:
            self.times.write(self.spent)


def _of(item: pytest.Item) -> tuple[Path, str]:
    return item.path, getattr(item, "originalname", item.name)


def _processor_seconds() -> float:
    """Return the processor time of this process and its children, which other processes change less than wall time."""
    return sum(os.times()[:4])


def _each(function: Any, cases: list[Case]) -> list[pytest.Item] | None:
    """Have pytest make an item of each case; none of none."""
    others = [mark for mark in function.pytestmark if mark.name != "parametrize"]
    names = [*cases[0].params] if cases else []
    values = [pytest.param(*case.params.values(), id=case.id, marks=case.marks) for case in cases]
    function.pytestmark = [*others, pytest.mark.parametrize(names, values).mark]
    return None if cases else []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """End the process with every thread's stack where a test hangs: with xdist, that test fails and the others run."""
    if not item.config.option.all:
        faulthandler.dump_traceback_later(HANGS, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def small_heap() -> None:
    """Have `gc.collect()` look through what the test makes alone, not through all that earlier tests left."""
    gc.collect(1)
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """The tests live as long as the run: the collector need not visit them, now or at a `gc.collect()` in one."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
