"""The `wengert` script, which an installation makes of `pyproject.toml`."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.__main__ import main

ROOT = Path(__file__).parents[2]
MODEL = "import numpy as np\n\ndef loss(x):\n    return np.sum(x**2)\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The script as pip writes it, in a folder of its own."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, function = scripts["wengert"].partition(":")
    (tmp_path / "bin").mkdir()
    file = tmp_path / "bin" / "wengert"
    file.write_text(f"import sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    return file


def run(script: Path, *words: str, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """Run the script in a folder with a module; return the exit code and what it printed."""
    folder = script.parents[1]
    (folder / "beside_script.py").write_text(MODEL)
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT / "rules")))
    done = subprocess.run(
        [sys.executable, *options, script, *words],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_the_script_finds_modules_of_the_current_folder(script: Path) -> None:
    code, printed, _ = run(script, "check", "beside_script:loss", "[1.0, 2.0]")
    assert code == 0 and printed.startswith("OK: gradients agree with finite differences (")


def test_the_script_leaves_the_path_alone_if_python_is_told_to(script: Path) -> None:
    code, _, said = run(script, "check", "beside_script:loss", "[1.0, 2.0]", options=("-P",))
    assert code == 2 and said.startswith("wengert: beside_script:loss: there is no module beside_script")


@pytest.mark.parametrize("program", ["wengert", "python -m wengert"])
def test_messages_and_examples_name_the_program(program: str, capsys) -> None:
    for words in (["--help"], ["check", "--help"]):
        with pytest.raises(SystemExit):
            main(words, program)
        printed = capsys.readouterr().out
        assert printed.startswith(f"usage: {program} ")
        assert f"\n  {program} explain np.fft.fft list.append\n" in printed


def test_the_versions_are_printed(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    python = ".".join(map(str, sys.version_info[:2]))
    printed = capsys.readouterr().out
    assert ended.value.code == 0
    assert printed.startswith(f"wengert {wg.__version__}, Python {python}.")
    assert printed.endswith(f", NumPy {np.__version__}\n")


@pytest.mark.parametrize(
    ("words", "stated"),
    [
        ([], "gradients agree with finite differences (no error is larger than atol; rtol 6.1e-06, atol 1.5e-08, 3 "),
        (["--mode", "fwd", "--rtol", "1e-3", "--atol", "0.1"], "tangents agree with finite differences (no error is "
         "larger than atol; rtol 0.001, atol 0.1, 3 "),
        (["single.npz"], "rtol 6.1e-06 or 0.0049, atol 1.5e-08 or 0.00035, 5 "),
    ],
)  # fmt: skip
def test_a_check_prints_its_tolerances(words: list[str], stated: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weighted_model.py").write_text(
        "import numpy as np\n\ndef loss(w, x, y=1.0):\n    return w * np.sum(x**2) * np.sum(y)\n"
    )
    np.savez("single.npz", y=np.ones(2, np.float32))
    assert main(["check", "weighted_model.py:loss", "0.5", "[1.0, 2.0]", *words]) == 0
    printed = capsys.readouterr().out
    sys.modules.pop("weighted_model", None)
    assert stated in printed and printed.endswith(" numbers checked)\n")


def test_a_verbose_check_prints_each_error(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checked_model.py").write_text("def f(w, x):\n    return w * x**2\n")
    assert main(["check", "checked_model.py:f", "0.5", "2.0", "--order", "2", "--verbose"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    sys.modules.pop("checked_model", None)
    assert [line.partition(": relative error ")[0] for line in lines] == ["  w", "  x", "  derivatives of order 2"]
    assert all(float(line.rpartition(" ")[2]) < 1e-9 for line in lines)


def test_the_tolerances_are_those_of_the_comparison(tmp_path: Path, monkeypatch, capsys) -> None:
    """An error between the printed tolerance and a hundredth of it passes; one above it fails, and is printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong_model.py").write_text(
        "import numpy as np\nimport wengert as wg\n\n"
        "def scaled(x, error):\n    return x\n\n"
        "@wg.rrule(scaled)\ndef rule(x, error):\n    return x, lambda x_bar: (x_bar * (1 + error), None)\n\n"
        "def f(x, error):\n    return scaled(x, error) * 1e6\n"
    )
    with wg.rules.scope():
        assert main(["check", "wrong_model.py:f", "1.0", "5e-6", "--wrt", "x"]) == 0
        assert "largest relative error 5.0e-06; rtol 6.1e-06" in capsys.readouterr().out
        assert main(["check", "wrong_model.py:f", "1.0", "7e-6", "--wrt", "x"]) == 1
        assert "relative error: 7e-06, allowed 6.1e-06" in capsys.readouterr().err
    sys.modules.pop("wrong_model", None)
