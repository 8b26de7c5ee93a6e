"""CPython's own tests, each method natively and under trace, and where the two verdicts differ.

    python tests/house/cpython_corpus.py                        # all modules, a table and the names of what differs
    python tests/house/cpython_corpus.py test_scope test_super  # some
    python tests/house/cpython_corpus.py test_scope.ScopeTests.testLambdas --why

A method is traced as part of a function of a float whose gradient is taken, so that every hook is on. Each module runs
in a process of its own; where that dies or hangs, the method that it was at is `lost`, and a new one goes on behind it.
"""

from __future__ import annotations

import argparse
import contextlib
import contextvars
import faulthandler
import importlib
import importlib.util
import inspect
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MODULES = """
    test_abc test_abstract_numbers test_argparse test_array test_asyncgen test_augassign test_baseexception test_binop
    test_bisect test_bool test_builtin test_call test_class test_cmath test_collections test_colorsys test_compare
    test_complex test_contains test_context test_contextlib test_contextlib_async test_copy test_coroutines
    test_dataclasses test_datetime test_decimal test_decorators test_defaultdict test_deque test_descr test_descrtut
    test_dict test_dictcomps test_dictviews test_difflib test_dynamic test_dynamicclassattribute test_enum
    test_enumerate test_except_star test_exception_group test_exception_hierarchy test_exception_variations
    test_exceptions test_extcall test_float test_format test_fractions test_frame test_fstring test_funcattrs
    test_functools test_generator_stop test_generators test_genericalias test_genericclass test_genexps test_global
    test_grammar test_graphlib test_hash test_heapq test_index test_inspect test_int test_isinstance test_iter
    test_itertools test_json test_keywordonlyarg test_list test_listcomps test_long test_math test_metaclass
    test_named_expressions test_numeric_tower test_opcodes test_operator test_ordered_dict test_patma
    test_positional_only_arg test_pow test_pprint test_print test_property test_raise test_random test_range test_re
    test_reprlib test_richcmp test_scope test_set test_setcomps test_slice test_sort test_statistics test_string
    test_structseq test_subclassinit test_super test_textwrap test_tuple test_type_annotations test_typechecks
    test_types test_typing test_unary test_unpack test_unpack_ex test_userdict test_userlist test_userstring
    test_warnings test_weakref test_weakset test_with test_yield_from
""".split()
FAST = "test_genexps test_listcomps test_named_expressions test_patma test_scope test_super test_unpack_ex test_with"
PATIENCE = 60  # seconds of the processor for one method


class Verdict(NamedTuple):
    """What a run of one method gave: pass, skip, fail, error or lost, and why."""

    name: str
    kind: str
    why: str = ""


def is_installed() -> bool:
    """Whether this Python came with its tests."""
    return importlib.util.find_spec("test") is not None and importlib.util.find_spec("test.test_scope") is not None


def cases(suite: Any) -> Iterator[unittest.TestCase]:
    """The methods of a suite."""
    if isinstance(suite, unittest.TestCase):
        yield suite
        return
    for part in suite:
        yield from cases(part)


def load(module: str) -> list[unittest.TestCase]:
    from test import support

    support.use_resources = ()  # no network, no gigabytes, no hours
    return list(cases(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(f"test.{module}"))))


def traced(case: Any, method: Callable[[], Any]) -> Callable[[], None]:
    """The method with every hook on; one that is a coroutine is driven by the event loop of its case."""
    import wengert as wg

    def around(x: float) -> float:
        made = method()
        if inspect.iscoroutine(made):
            case._asyncioRunner.run(made, context=contextvars.copy_context())
        return x * x

    def call() -> None:
        assert wg.grad(around)(1.5) == 3.0

    return call


def run(case: unittest.TestCase, under_trace: bool) -> Verdict:
    """One method with its fixture; of that, the method alone is traced."""
    if under_trace:
        call = case._callTestMethod
        case._callTestMethod = lambda method: call(traced(case, method))
    result = unittest.TestResult()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        case.run(result)
    for kind in ("errors", "failures"):
        for _, why in getattr(result, kind):
            return Verdict(case.id(), kind.rstrip("s"), why)
    if result.unexpectedSuccesses:
        return Verdict(case.id(), "failure", "unexpected success")
    return Verdict(case.id(), "skip" if result.skipped else "pass")


def _is_wanted(only: str, name: str) -> bool:
    return name == only or (only in name and not only.startswith("test."))


def child(module: str, mode: str, start: int, out: str, only: str) -> None:
    """Run the methods of a module from one on, and write each verdict as a line."""
    with open(out, "a", encoding="utf-8") as lines:

        def write(*parts: Any) -> None:
            lines.write(json.dumps(parts) + "\n")
            lines.flush()

        found = load(module)
        for number, case in enumerate(found):
            if number < start or not _is_wanted(only, case.id()):
                continue
            write("at", number, case.id())
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)  # at its end the process dies
            faulthandler.dump_traceback_later(10 * PATIENCE, exit=True)
            verdict = run(case, mode == "traced")
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_PROF, 0)
            write("done", *verdict)
        write("end")


def verdicts(module: str, mode: str, only: str = "") -> dict[str, Verdict]:
    """All verdicts of a module in one mode."""
    found: dict[str, Verdict] = {}
    start = 0
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "verdicts")
        while True:
            ended = _process(folder, [module, mode, str(start), out, only])
            lines = [json.loads(line) for line in Path(out).read_text(encoding="utf-8").splitlines()]
            found.update({Verdict(*line[1:]).name: Verdict(*line[1:]) for line in lines if line[0] == "done"})
            if not lines or lines[-1][0] != "at":
                if not lines or lines[-1][0] != "end":
                    found[module] = Verdict(module, "lost", ended)
                return found
            _, number, name = lines[-1]
            found[name] = Verdict(name, "lost", ended)
            start = number + 1


def _process(folder: str, arguments: list[str]) -> str:
    """Run a child; what it said at its end."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "rules"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, __file__, "--child", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        errors="replace",
        check=False,
    )
    return f"exit {done.returncode}: {done.stderr[-3000:]}"


def compare(module: str, only: str = "") -> tuple[int, list[Verdict]]:
    """How many methods of a module pass natively, and the verdicts of those that do not pass traced."""
    natively = [v.name for v in verdicts(module, "native", only).values() if v.kind == "pass"]
    under_trace = verdicts(module, "traced", only)
    lost = Verdict("", "lost", "no verdict")
    found = [under_trace.get(name, lost)._replace(name=name) for name in natively]
    differing = [v for v in found if v.kind != "pass"]
    if len(differing) < len(natively):  # one method may have spoiled the process for others
        differing = [verdicts(module, "traced", v.name).get(v.name, v) for v in differing]
    return len(natively), [v for v in differing if v.kind != "pass"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", default=MODULES, help="test_scope, or test_scope.ScopeTests.testLambdas")
    parser.add_argument("--why", action="store_true", help="print the traceback of each that differs")
    options = parser.parse_args()
    total = differing = 0
    for name in options.modules:
        module, _, only = name.partition(".")
        passed, others = compare(module, only)
        total, differing = total + passed, differing + len(others)
        print(f"{name:32} native {passed:4}  traced {passed - len(others):4}", flush=True)
        for verdict in others:
            last = verdict.why.strip().splitlines()[-1:] or [""]
            print(f"    {verdict.kind:7} {verdict.name.partition('.')[2]}: {last[0][:160]}", flush=True)
            if options.why:
                print(verdict.why, flush=True)
    print(
        f"Python {sys.version.split()[0]}: {total} pass natively, {total - differing} traced"
        f" ({100 * (total - differing) / max(total, 1):.2f} %)"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5], sys.argv[6])
    else:
        main()
