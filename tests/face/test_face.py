"""`import wengert` is a table of contents: all that it imports, and nothing twice, on one screen."""

from __future__ import annotations

import doctest
import inspect
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import wengert as wg
from wengert import errors

SHOWN = (
    wg.grad, wg.value_and_grad, wg.vjp, wg.stop_gradient, wg.trace, wg.gradtape, wg.ngradient, wg.check_grads,
    wg.test_rrule, wg.primitivize, wg.checkpoint, wg.checkpoint_loop,
)  # fmt: skip


def test_the_table_of_contents_names_all_that_is_public_once() -> None:
    imported = {
        name
        for name, value in vars(wg).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name not in ("Any", "import_module")
    }
    assert set(wg.__all__) == imported | {"extend"}
    assert len(wg.__all__) == len(set(wg.__all__))


def test_every_error_that_a_user_may_catch_is_at_the_top() -> None:
    classes = {c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, Exception)}
    assert {c for c in classes if c.__name__ not in wg.__all__} == {errors.EscapedFrameError}  # a RefusedCallError
    assert all(issubclass(c, wg.WengertError | UserWarning) for c in classes)


def test_a_star_import_gives_it() -> None:
    namespace: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec("from wengert import *", namespace)
    assert namespace["grad"] is wg.grad
    assert set(wg.__all__) <= namespace.keys()


@pytest.mark.parametrize("f", SHOWN, ids=lambda f: f.__name__)
def test_an_example_in_the_docstring_runs(f: object) -> None:
    names = {"wg": wg, "np": np, "__name__": "__main__"}
    (example,) = doctest.DocTestFinder(recurse=False).find(f, globs=names)
    assert example.examples
    assert doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(example).failed == 0


@pytest.mark.parametrize("f", SHOWN, ids=lambda f: f.__name__)
def test_a_docstring_says_what_each_parameter_means(f: object) -> None:
    """`grad` for those that it shares with `value_and_grad`; the function and its arguments need no words."""
    said = f"{inspect.getdoc(f)}{inspect.getdoc(wg.grad) if f is wg.value_and_grad else ''}"
    parameters = inspect.signature(f).parameters.values()
    named = {p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    assert not [name for name in named - {"f", "x", "tape", "step", "n"} if f"`{name}" not in said]


def test_it_fits_on_a_screen() -> None:
    assert len(Path(inspect.getfile(wg)).read_text().splitlines()) < 70
