"""NumPy's functions without a rule, in many forms of call, against differences and in both modes."""

from __future__ import annotations

import pytest
from samples_traced import TRACED
from sampling import naming
from traced_check import check_traced

from wengert.values.callables import callable_name

BY_NAME: dict[str, list] = {}
for _sample in TRACED:
    BY_NAME.setdefault(callable_name(_sample.f), []).append(_sample)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BY_NAME)
def test_what_numpy_writes_in_python_is_followed(name: str) -> None:
    for sample in BY_NAME[name]:
        with naming(sample):
            check_traced(sample)
