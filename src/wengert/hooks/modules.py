"""The modules whose Python functions are not instrumented, each with the reason."""

from __future__ import annotations

from wengert.hooks.policy import Decision, native_call, opaque_call

_DISPLAYS = native_call("Its module prints or inspects its arguments, and computes nothing on them.")
_STARTS_THREADS = opaque_call("Its module starts threads, processes or event loops, whose code is not recorded.")
_CONVERTS_TEXT = opaque_call("Its module reads and writes strings, code or memory; its results have no derivative.")

MODULE_DECISIONS: dict[str, Decision] = {
    **dict.fromkeys(
        (
            "logging", "warnings", "_py_warnings", "traceback", "rich", "pdb", "bdb", "typing", "inspect", "dis", "abc",
            "weakref", "_weakrefset", "linecache", "gc", "faulthandler", "_pytest", "pytest", "pluggy", "coverage",
        ),
        _DISPLAYS,
    ),
    **dict.fromkeys(("asyncio", "concurrent", "multiprocessing", "subprocess", "threading"), _STARTS_THREADS),
    **dict.fromkeys(
        (
            "ast", "codeop", "ctypes", "importlib", "_frozen_importlib", "_frozen_importlib_external", "io", "pathlib",
            "pickle", "re", "sre_compile", "sre_parse", "tempfile", "tokenize",
        ),
        _CONVERTS_TEXT,
    ),
}  # fmt: skip
