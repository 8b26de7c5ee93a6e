"""What lies in the folder for compiled kernels is this user's, and is what was asked for."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from wengert.tensor import kernel_cache
from wengert.tensor.kernel_cache import CacheFolderError, folder, module

TEXT = "made = 1\n"


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WENGERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_folder_is_its_owners_alone(base: Path) -> None:
    old = os.umask(0)
    try:
        assert module(TEXT).made == 1
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder().stat().st_mode) == 0o700
    assert stat.S_IMODE(base.stat().st_mode) & kernel_cache.OTHERS == 0


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_folder_that_others_can_write_is_refused(mode: int) -> None:
    folder().mkdir(parents=True)
    folder().chmod(mode)
    with pytest.raises(CacheFolderError, match="others can write"):
        module(TEXT)


def test_a_file_of_that_name_and_another_text_is_not_run() -> None:
    path = Path(str(module(TEXT).__file__))
    path.write_text("made = 2\n")
    (path.parent / "__pycache__").mkdir(exist_ok=True)
    assert module(TEXT).made == 1
    assert path.read_text() == TEXT


def test_no_drafts_stay() -> None:
    module(TEXT)
    assert [path.suffix for path in folder().iterdir()] == [".py"]
