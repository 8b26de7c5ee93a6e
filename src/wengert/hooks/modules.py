"""The modules whose functions are not entered though they are written in Python, each with the reason."""

from __future__ import annotations

from wengert.hooks.policy import Decision, plain, searched

_SHOWING = plain("Its module shows or inspects what it is given, and computes nothing on it.")
_WAITING = searched("Its module starts threads, processes or event loops, whose code runs where nothing is recorded.")
_READING = searched("Its module reads and writes texts, code or memory; what it makes of numbers has no derivative.")

MODULES: dict[str, Decision] = {
    **dict.fromkeys(
        (
            "logging", "warnings", "traceback", "rich", "pdb", "bdb", "typing", "inspect", "dis", "abc", "weakref",
            "_weakrefset", "linecache", "gc", "faulthandler", "_pytest", "pytest", "pluggy", "coverage",
        ),
        _SHOWING,
    ),
    **dict.fromkeys(("asyncio", "concurrent", "multiprocessing", "subprocess", "threading"), _WAITING),
    **dict.fromkeys(
        (
            "ast", "codeop", "ctypes", "importlib", "io", "pickle", "re", "sre_compile", "sre_parse", "tempfile",
            "tokenize",
        ),
        _READING,
    ),
}  # fmt: skip
