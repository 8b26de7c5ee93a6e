"""What lies in the folder for compiled kernels is this user's, and is what was asked for."""

from __future__ import annotations

import gc
import os
import stat
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from wengert.values import cache_folder
from wengert.values.cache_folder import CacheFolderError
from wengert.values.kernel_cache import Kernels, folder, kernels, version_of

TEXT = "made = 1\n"


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_folder_is_its_owners_alone(base: Path) -> None:
    old = os.umask(0)
    try:
        assert kernels(TEXT).functions["made"] == 1
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder().stat().st_mode) == 0o700
    assert stat.S_IMODE(base.stat().st_mode) & cache_folder.OTHERS == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_folder_that_others_can_write_is_refused(mode: int) -> None:
    folder().mkdir(parents=True)
    folder().chmod(mode)
    with pytest.raises(CacheFolderError, match="other users can write"):
        kernels(TEXT)


def test_a_file_of_that_name_and_another_text_is_not_run() -> None:
    path = Path(kernels(TEXT).functions["__file__"])
    gc.collect()
    path.write_text("made = 2\n")
    (path.parent / "__pycache__").mkdir(exist_ok=True)
    assert kernels(TEXT).functions["made"] == 1
    assert path.read_text() == TEXT


def test_no_drafts_stay() -> None:
    kernels(TEXT)
    assert [path.suffix for path in folder().iterdir()] == [".py"]


def test_a_module_goes_with_its_kernels() -> None:
    def modules() -> set[str]:
        return {name for name in sys.modules if name.startswith("kernels_")}

    before = modules()
    held: list[Kernels] = [kernels(TEXT), kernels(TEXT)]
    assert held[0] is held[1]
    (name,) = modules() - before
    assert vars(sys.modules[name]) is held[0].functions
    held.pop()
    gc.collect()
    assert name in sys.modules
    held.pop()
    gc.collect()
    assert modules() == before


def test_the_version_of_a_package_is_read_from_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "numpy" / "__init__.py"
    assert version_of("numpy", str(file)) == version("numpy")  # which no folder tells
    (tmp_path / "numpy-0.61.0rc1.dist-info").mkdir()
    (tmp_path / "numpy_financial-1.0.dist-info").mkdir()
    assert version_of("numpy", str(file)) == "0.61.0rc1"
    (tmp_path / "numpy-0.5.0.dist-info").mkdir()
    assert version_of("numpy", str(file)) == version("numpy")
    assert version_of("numpy", np.__file__) == version("numpy")
