"""The derivative of each rule for Python and NumPy, as source without wengert."""

from __future__ import annotations

import pytest
from alone import check_alone
from samples import BY_FUNCTION

FIRST = [first for first, *_ in BY_FUNCTION.values()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(3))
def test_the_derivative_of_each_rule_runs_without_the_package(part: int) -> None:
    assert check_alone(FIRST[part::3]) > 50
