"""`python -m wengert`: its commands on functions of files and modules, what they print, and with what code they end."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.__main__ import EPILOG, main
from wengert.tools.cli_values import UsageError, arguments, find_callable

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
MODEL = """\
import json
import numpy as np
from beside import half

def loss(w, x, scale=1.0):
    return scale * np.sum(np.tanh(w * x) ** 2)

def halved(x):
    return half(x) ** 2

def through_text(x):
    return float(json.dumps(x)) * x

def wrong(x):
    return float(int(x * 1e6)) * 1e-6 * x

def raising(x):
    return x / {}["k"]

def by_keyword(x, *, order, modes=(1.0,)):
    return x**order * modes[0]

class Spring:
    @staticmethod
    def energy(x):
        return 1.5 * x * x

number = 3.0

def constant():
    return number
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a model and data, in which the command is called."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "beside.py").write_text("def half(x):\n    return x / 2\n")
    np.savez(tmp_path / "data.npz", w=0.5, x=np.array([1.0, 2.0]))
    np.savez(tmp_path / "ordered.npz", 0.5, np.array([1.0, 2.0]))
    np.savez(tmp_path / "objects.npz", w=np.array([{}]))
    (tmp_path / "model.npz").write_text("no arrays")
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0]))
    importlib.invalidate_caches()
    yield tmp_path
    for name in ("model", "beside"):
        sys.modules.pop(name, None)


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code, what is printed, and what goes to the standard error."""
    try:
        code: Any = main(list(words))
    except SystemExit as ended:
        code = ended.code
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    "words",
    [
        ["0.5", "[1.0, 2.0]"],
        ["data.npz"],
        ["ordered.npz"],
        ["x=x.npy", "w=0.5"],
        ["0.5", "data.npz:x"],
        ["data.npz:w", "x=ordered.npz:arr_1", "scale=1.0"],
    ],
)
def test_the_arguments_arrive(words: list[str]) -> None:
    args, kwargs = arguments(find_callable("model.py:loss"), words)
    w, x, *_ = args
    assert type(w) is float and w == 0.5 and type(x) is np.ndarray and x.tolist() == [1.0, 2.0] and not kwargs


def test_literals_are_themselves_but_for_lists_of_numbers() -> None:
    words = ["-1e-3", '{"w": [[1, 2.0], [3, 4]]}', "(1, [2.0])", '["a", 1.0]', "[[1.0], [2.0, 3.0]]", "[]", "'b=c'"]
    args, kwargs = arguments(lambda *args, **kwargs: 0, [*words, "a=1j"])
    number, tree, pair, mixed, ragged, empty, text = args
    assert number == -1e-3 and tree["w"].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert pair[0] == 1 and pair[1].shape == (1,)
    assert mixed == ["a", 1.0] and [part.tolist() for part in ragged] == [[1.0], [2.0, 3.0]] and empty == []
    assert text == "b=c" and kwargs == {"a": 1j}


def test_trace_prints_the_tape_of_the_function_or_of_its_gradient(capsys) -> None:
    code, printed, _ = asked(capsys, "trace", "model.py:Spring.energy", "2.0")
    assert code == 0 and printed == f"{wg.trace(find_callable('model.py:Spring.energy'), 2.0)[1]}\n"
    code, printed, _ = asked(capsys, "trace", "--of", "gradient", "model:halved", "2.0")
    plain = str(wg.trace(find_callable("model:halved"), 2.0)[1])
    assert code == 0 and len(printed.splitlines()) > len(plain.splitlines())


@pytest.mark.parametrize("words", [["0.5", "--of", "gradient", "x.npy"], ["data.npz"], ["--of=value", "ordered.npz"]])
def test_source_prints_a_program_that_runs(words: list[str], capsys) -> None:
    code, printed, _ = asked(capsys, "source", "model.py:loss", *words)
    names: dict[str, Any] = {}
    exec(printed, names)
    w, x = 0.5, np.array([1.0, 2.0])
    y = np.sum(np.tanh(w * x) ** 2)
    assert code == 0
    if "--of=value" in words:
        assert names["loss"](w, x) == pytest.approx(y)
    else:
        value, (_, w_bar, x_bar) = names["dloss"](w, x)
        slope = 2 * np.tanh(w * x) / np.cosh(w * x) ** 2
        assert value == pytest.approx(y) and w_bar == pytest.approx(np.sum(slope * x))
        np.testing.assert_allclose(x_bar, slope * w)


def test_check_is_right_or_ends_with_one(capsys) -> None:
    code, printed, _ = asked(capsys, "check", "model.py:loss", "-1e-3", "--mode", "fwd", "[1.0, -2.0]", "--atol", "0")
    error = float(re.search(r"largest relative error ([^;]+);", printed)[1])
    assert code == 0 and error < 1e-6
    code, printed, said = asked(capsys, "check", "model.py:wrong", "1.5")
    assert code == 1 and not printed and "disagrees with differences at x" in said
    assert asked(capsys, "check", "model.py:by_keyword", "1.5", "order=3")[0] == 0
    code, printed, _ = asked(capsys, "check", "numpy:tanh", "--arg=-0.5", "--order", "2")
    assert code == 0 and printed == (
        "OK: gradients up to order 2 agree with finite differences "
        "(no error is larger than atol; rtol 6.1e-06, atol 1.5e-08, 1 number checked)\n"
    )


@pytest.mark.parametrize("name", ["x", "order", "modes"])
def test_check_takes_arguments_by_keyword_and_by_name(name: str, capsys) -> None:
    words = ["model.py:by_keyword", "1.5", "order=3.0", "modes=(2.0,)", "--wrt", name, "--rtol=0", "--atol=0"]
    code, _, said = asked(capsys, "check", *words)
    slopes = {"x": 13.5, "order": 2 * 1.5**3 * np.log(1.5), "modes": 1.5**3}
    at, slope = re.search(r"differences at (\w+).*\n +gradient: +(\S+)", said).groups()
    assert code == 1 and at == name and float(slope) == pytest.approx(slopes[name])


def test_a_gradient_by_some_of_the_arguments(capsys) -> None:
    assert "pullback" in asked(capsys, "trace", "model.py:loss", "data.npz", "--wrt", "x")[1]
    names: dict[str, Any] = {}
    exec(asked(capsys, "source", "model.py:loss", "data.npz", "--wrt", "x")[1], names)
    x = np.array([1.0, 2.0])
    _, (of_f, slopes) = names["dloss"](0.5, x)
    assert of_f is None
    np.testing.assert_allclose(slopes, np.tanh(0.5 * x) / np.cosh(0.5 * x) ** 2)
    for command in ("check", "profile", "memory", "source", "view"):
        code, _, said = asked(capsys, command, "model.py:loss", "data.npz", "--wrt", "size")
        assert code == 2 and "size" in said and "w, x" in said
    for command in ("check", "profile", "memory", "source"):
        code, _, said = asked(capsys, command, "model.py:constant")
        assert code == 2 and "got no arguments" in said


def test_memory_prints_a_table_and_writes_a_page(folder: Path, capsys) -> None:
    code, printed, _ = asked(capsys, "memory", "model.py:loss", "data.npz", "--html", "m.html")
    assert code == 0 and "at the most" in printed and printed.endswith("m.html\n")
    assert "</html>" in (folder / "m.html").read_text(encoding="utf-8")
    code, printed, said = asked(capsys, "memory", "model.py:loss", "data.npz", "--html", "nowhere/m.html")
    assert code == 2 and not printed and "there is no folder nowhere" in said


def test_missing_lists_what_has_no_rule(capsys) -> None:
    code, printed, _ = asked(capsys, "missing-rules", "model.py:through_text", "2.0")
    assert code == 1 and "json.dumps" in printed and "@wg.rrule(json.dumps)" in printed
    assert asked(capsys, "missing-rules", "model.py:halved", "2.0")[:2] == (0, "no calls without a rule\n")


def test_profile_prints_a_table_and_writes_files(folder: Path, capsys) -> None:
    words = ["profile", "model.py:loss", "data.npz", "--html", "p.html", "--speedscope", "p.json"]
    code, printed, _ = asked(capsys, *words)
    assert code == 0 and "np.tanh" in printed and printed.splitlines()[-2:] == ["p.html", "p.json"]
    assert "</html>" in (folder / "p.html").read_text(encoding="utf-8")
    assert json.loads((folder / "p.json").read_text(encoding="utf-8"))["profiles"]


def test_view_writes_a_page(folder: Path, capsys) -> None:
    assert asked(capsys, "view", "model.py:loss", "data.npz", "--out", "tape.html")[:2] == (0, "tape.html\n")
    assert "tanh" in (folder / "tape.html").read_text(encoding="utf-8")


def test_policy_takes_a_function_of_a_file(capsys) -> None:
    code, printed, _ = asked(capsys, "explain", "model.py:loss")
    assert code == 0 and printed.startswith("model.py:loss: traced") and "model.py:5" in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["model.py:los", "1.0"], "model.py has no los. Did you mean loss?"),
        (["modl.py:loss"], "no such file"),
        (["model.py"], "name a function of the file, model.py:function"),
        (["modell:loss"], "modell.py:loss"),
        (["model:number"], "number is of type float, not a function"),
        (["model"], "Name its function: model:function"),
        (["model:loss"], "loss(w, x, scale=1.0): missing a required argument: 'w'"),
        (["model:loss", "data.npz", "size=1.0"], "unexpected keyword argument 'size'"),
        (["model:loss", "np.eye(3)"], "np.eye(3) is not a Python literal"),
        (["model:loss", "abc"], '"a string"'),
        (["model:loss", "none.npz"], "none.npz"),
        (["model:loss", "objects.npz"], "allow_pickle"),
        (["model:loss", "model.npz"], "model.npz"),
        (["model:loss", "data.npz:z"], "has no array z, but w, x"),
        (["model:loss", "x=data.npz"], "x=data.npz:w"),
        (["model:loss", "w=1.0", "w=2.0"], "w is passed twice"),
        (["model:loss", "data.npz", "--fast"], "--fast: there is no such option"),
        ([], "required: function"),
    ],
)
def test_wrong_usage_ends_with_two_and_says_what_to_do(words: list[str], said: str, capsys) -> None:
    code, printed, error = asked(capsys, "trace", *words)
    assert code == 2 and not printed and said in error and "Traceback" not in error


def test_arguments_without_a_derivative_are_wrong_usage(capsys) -> None:
    code, _, said = asked(capsys, "check", "model:loss", "1", "2")
    assert code == 2 and "1.0" in said


def test_what_the_function_raises_ends_with_one_and_shows_the_user_s_lines(capsys) -> None:
    code, _, said = asked(capsys, "trace", "model.py:raising", "2.0")
    assert code == 1 and said.endswith("KeyError: 'k'\n")
    assert re.findall(r'File "(.*)", line (\d+)', said) == [(str(Path("model.py").resolve()), "18")]
    code, _, said = asked(capsys, "source", "model.py:through_text", "2.0")
    assert code == 1 and said.startswith("NoRuleError: ") and "model.py:12" in said and "Traceback" not in said


def test_a_module_that_is_there_and_fails_says_so() -> None:
    Path("broken.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        find_callable("broken:f")
    with pytest.raises(UsageError, match="no module nothing"):
        find_callable("nothing:f")


def lines_of(text: str) -> list[list[str]]:
    return [shlex.split(line)[3:] for line in re.findall(r"^ *(python -m wengert .*)", text, re.MULTILINE)]


def test_the_examples_of_the_help_run(capsys) -> None:
    Path("model.py").write_text(textwrap.dedent(re.search(r"^  import.*?(?=^  python)", EPILOG, re.M | re.S)[0]))
    examples = lines_of(EPILOG)
    commands = "trace source check profile memory view missing-rules explain"
    assert [words[0] for words in examples] == commands.split()
    for words in examples:
        assert asked(capsys, *words)[0] == 0
    for command in ([], *[[words[0]] for words in examples]):
        assert EPILOG.splitlines()[-1] in asked(capsys, *command, "--help")[1]


def test_the_page_says_what_is_printed(capsys) -> None:
    Path("model.py").write_text(re.search(r"```py\n(.*?)```", PAGE, re.DOTALL)[1])
    blocks = re.findall(r"```sh\n(.*?)```\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    for command, stated in blocks:
        printed = "".join(asked(capsys, *words)[1] for words in lines_of(command))
        assert re.sub(r"\S+e[+-]\d\d", "…", printed) == re.sub(r"\S+e[+-]\d\d", "…", stated)


def test_as_a_program_whose_reader_is_gone() -> None:
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT / "rules")))
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "wengert", "trace", "model:halved", "1.0"]
    with os.fdopen(write, "w") as gone:
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, stdout=gone, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt_says_what_was_running(monkeypatch, capsys) -> None:
    monkeypatch.setattr("wengert.api.checks._check_all_orders", interrupting)
    assert asked(capsys, "check", "model.py:halved", "1.0") == (130, "", "\ninterrupted: check_grads of model.halved\n")


def interrupting(*_: Any) -> None:
    raise KeyboardInterrupt


def test_version_names_wengert_python_and_numpy(capsys) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    expected = f"wengert {wg.__version__}, Python {sys.version.split()[0]}, NumPy {np.__version__}"
    assert capsys.readouterr().out.strip() == expected


def test_argcomplete_gets_the_parser_with_all_commands(monkeypatch, capsys) -> None:
    got: list[Any] = []
    monkeypatch.setitem(sys.modules, "argcomplete", types.SimpleNamespace(autocomplete=got.append))
    assert main(["explain", "list.append"]) == 0
    assert "trace" in got[0].format_help()
