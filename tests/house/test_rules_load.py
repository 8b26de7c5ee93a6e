"""The rules for each package load with the version of it that is installed, old or new."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil

import pytest

import wengert_rules
import wengert_rules.scipy

NAMES = [f"wengert_rules.{found.name}" for found in pkgutil.iter_modules([*wengert_rules.__path__])]
PARTS = [f"wengert_rules.scipy.{found.name}" for found in pkgutil.iter_modules([*wengert_rules.scipy.__path__])]
FOR_PACKAGES = {"arch", "autograd", "bottleneck", "numexpr", "pandas", "pint", "pywt", "wrapt", "xarray"}


@pytest.mark.parametrize("module", [*NAMES, *PARTS])
def test_it_loads(module: str) -> None:
    package = module.split(".")[1]
    if package in FOR_PACKAGES and importlib.util.find_spec(package) is None:
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(module)
    else:
        importlib.import_module(module)
