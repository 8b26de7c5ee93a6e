"""The examples run as a user runs them, print what was read by eye, and find what others found in the same data."""

from __future__ import annotations

import csv
import re
import warnings

import numpy as np
import pytest
from golden import EXAMPLES, FOLDER, ROOT, example, lacking
from test_docs import rounded

SCRIPTS = ROOT / "examples"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short(name: str) -> None:
    assert len((SCRIPTS / f"{name}.py").read_text().splitlines()) < 60


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_prints_what_was_read(name: str) -> None:
    if lacking(name):
        warnings.warn(f"NOT TESTED: examples/{name}.py, which needs {', '.join(lacking(name))}", stacklevel=1)
        pytest.skip(f"needs {', '.join(lacking(name))}")
    assert stable(example(name)) == stable((FOLDER / "examples" / f"{name}.txt").read_text(encoding="utf-8")), (
        "read the new text, then run python tests/house/golden.py"
    )


def stable(text: str) -> str:
    """What an example prints, without what depends on the libraries' last digits."""
    hidden = r"^error [^\n]*|^with the gradient [^\n]*|^Old Faithful.*|[^\n]*by sampling[^\n]*"
    return rounded(re.sub(hidden, "", text, flags=re.M | re.S))


@pytest.fixture(scope="module")
def printed() -> str:
    return example("quickstart")


def test_the_edited_tape_is_right_where_the_function_overflows() -> None:
    x, labels = np.array([800.0, -2.0, 3.0]), np.array([1.0, 0.0, 1.0])
    value = np.sum(np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0.0) - labels * x)
    said = re.search(r"at 800 it gives ([\d.]+), with the gradient \[(.*)\]", example("edit_a_tape"))
    assert said is not None and float(said[1]) == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose([float(g) for g in said[2].split()], 1 / (1 + np.exp(-x)) - labels, atol=6e-5)


def test_the_rule_gives_the_gradient_of_the_steps() -> None:
    gradients = re.findall(r"gradient \[(.*)\]", example("own_rule"))
    assert len(gradients) == 2 and gradients[0] == gradients[1]


def test_the_flops_are_those_counted_by_hand() -> None:
    """x @ w: 2·10 for each of 32·4; + b and tanh: 1 each; and so on."""
    counts = [int(number) for number in re.findall(r"^ *(\d+)  ", example("count_flops"), re.MULTILINE)]
    assert counts == [128 * (20 + 1 + 1), 128 + 128 + 32, 128, 128 * 3]
    both = re.search(r"with the gradient (\d+)", example("count_flops"))
    assert both is not None and 2 < int(both[1]) / sum(counts) < 4


def test_quickstart_shows_value_gradient_tape_and_source(printed: str) -> None:
    for part in ("value     0.569849", "gradient  [1.84147098 0.45969769 0.6       ]", "setitem(", "def df(x"):
        assert part in printed


def test_the_gradient_agrees_with_differences(printed: str) -> None:
    error = next(line for line in printed.splitlines() if line.startswith("error"))
    assert float(error.split()[1]) < 1e-9


def test_the_printed_derivative_runs_and_agrees(printed: str) -> None:
    source = printed.split("runs without wengert:\n")[1].split("\nOld Faithful")[0]
    namespace: dict[str, object] = {}
    exec(source, namespace)
    _, (_, gradient) = namespace["df"](np.array([0.5, 1.0, 0.3]))  # type: ignore[operator]
    np.testing.assert_allclose(gradient, [1.84147098, 0.45969769, 0.6], rtol=1e-8)


def test_the_fit_is_the_known_one(printed: str) -> None:
    """Source: Benaglia et al. (2009), mixtools, J. Stat. Softw. 32(6), the same fit by EM in R."""
    assert "log-likelihood -276.36" in printed
    assert "34.8% last 2.019 ± 0.236" in printed
    assert "65.2% last 4.273 ± 0.437" in printed


def test_the_data_are_those_of_r() -> None:
    with (SCRIPTS / "data" / "faithful.csv").open() as file:
        rows = [(float(row["eruptions"]), float(row["waiting"])) for row in csv.DictReader(file)]
    assert rows[:3] == [(3.6, 79), (1.8, 54), (3.333, 74)]
    assert [round(sum(column) / 272, 6) for column in zip(*rows, strict=True)] == [3.487783, 70.897059]


def test_the_logistic_regression_is_the_known_one() -> None:
    """Source: the fit of these data by R's glm, which is in many textbooks: 15.0429 - 0.2322 t, deviance 20.315."""
    lines = example("optimisers").splitlines()
    assert len(lines) == 4
    assert all("log-likelihood -10.1576: 15.043 - 0.2322 t" in line for line in lines[:3])
    assert float(lines[3].split()[-1]) == pytest.approx(1 / (1 + np.exp(-15.0429 + 0.2322 * 31)), abs=1e-4)


def test_the_sum_over_chunks_finds_the_known_fit() -> None:
    """Source: Benaglia et al. (2009), as above: the same fit as that of all eruptions at once."""
    if lacking("chunks_on_dask"):
        pytest.skip("needs dask")
    assert example("chunks_on_dask").splitlines() == [
        "8 chunks of 34 eruptions: log-likelihood -276.36",
        "  34.8% last 2.019 ± 0.236 minutes",
        "  65.2% last 4.273 ± 0.437 minutes",
    ]


def test_the_memory_is_that_of_the_arrays_which_a_product_s_pullback_reads() -> None:
    """u u d for d = diff u, 30 times, keeps u u and d: 60 arrays of 20,000 doubles."""
    said = re.search(r"(\d+) MB of it in (\d+) arrays", example("see_and_measure"))
    assert said is not None and int(said[2]) == 60 and int(said[1]) == round(60 * 20_000 * 8 / 1e6)
