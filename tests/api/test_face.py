"""`import wengert` is a table of contents: all that it imports, and nothing twice, on one page."""

from __future__ import annotations

import ast
import inspect
import warnings
from pathlib import Path
from types import ModuleType

import wengert as wg
from wengert import errors, extend
from wengert.api import HOMES


def for_type_checkers(namespace: ModuleType) -> dict[str, str]:
    """The module that each name comes from, by the imports that only type checkers follow."""
    body = ast.parse(Path(inspect.getfile(namespace)).read_text()).body
    tests = [n for n in body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    found = [(alias.name, node.module) for test in tests for node in test.body for alias in node.names]  # type: ignore[attr-defined]
    return {name: f"wengert.{name}" if module == "wengert" else module for name, module in found}


def test_each_name_is_imported_from_where_type_checkers_find_it() -> None:
    assert for_type_checkers(wg) == HOMES
    assert for_type_checkers(extend) == extend._HOMES


def test_the_table_of_contents_names_all_that_is_public_once() -> None:
    assert set(wg.__all__) == {*HOMES, *errors.__all__, "errors"}
    assert len(wg.__all__) == len(set(wg.__all__))


def test_dir_shows_it_and_nothing_else() -> None:
    assert dir(wg) == sorted(wg.__all__)


def test_type_checkers_find_each_name_in_it() -> None:
    body = ast.parse(Path(inspect.getfile(wg)).read_text()).body
    table = next(node.value for node in body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    assert ast.literal_eval(table) == wg.__all__  # which they cannot add up, and do without `__getattr__`


def test_every_error_that_a_user_may_catch_is_at_the_top() -> None:
    classes = {c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, Exception)}
    assert {c for c in classes if c.__name__ not in wg.__all__} == {
        errors.EscapedFrameError,  # a RefusedCallError
        errors.NotNativeError,  # of the interface for rules
    }
    assert all(issubclass(c, wg.WengertError | UserWarning) for c in classes)


def test_a_star_import_gives_it() -> None:
    namespace: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec("from wengert import *", namespace)
    assert namespace["grad"] is wg.grad
    assert namespace.keys() == {*wg.__all__, "__builtins__"}


def test_it_fits_on_a_page() -> None:
    assert len(Path(inspect.getfile(wg)).read_text().splitlines()) < 100
