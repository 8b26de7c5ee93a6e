"""How arrays from outside lie in memory, and whether they can be written: a compiled function is never stale for it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from changed_outside import stale, stale_calls
from test_names_in_c import failures

import wengert as wg

ARRAYS = """
whole, zero = np.arange(6), np.zeros(6, int)
i, b, j, names = np.arange(3), np.array([True, False, True]), whole[:3], np.array(["a", "b"])
w, v, one, two = np.ones(3), np.ones(6)[:3], zero[:3], zero[3:]
big, d = np.array([1, 2], ">i8"), {"i": i}
def frozen(a):
    a = a.copy()
    a.flags.writeable = False
    return a
def shifted(a): return np.frombuffer(b"0" + a.tobytes(), np.uint8)[1:].view(a.dtype)
def writes(a):
    try: a[0] = a[0]
    except ValueError: return 3.0
    return 2.0
"""
EACH = [
    ("float({0}.flags.writeable)", "{0}.flags.writeable = False"),
    ("float({0}.flags['WRITEABLE'])", "{0} = frozen({0})"),
    ("float({0}.flags.num)", "{0} = frozen({0})"),
    ("float({0}.flags.c_contiguous)", "{0} = np.repeat({0}, 2)[::2]"),
    ("float({0}.flags.aligned)", "{0} = shifted({0})"),
    ("float({0}.flags.owndata)", "{0} = {0}.copy()[:]"),
    ("float({0}.base is None)", "{0} = {0}.copy()[:]"),
    ("float(0 if {0}.base is None else {0}.base.size)", "{0} = np.concatenate([{0}, {0}])[:len({0})]"),
    ("float({0}.strides[0])", "{0} = np.repeat({0}, 2)[::2]"),
    ("float({0}.dtype.byteorder == '>')", "{0} = {0}.astype({0}.dtype.newbyteorder())"),
    ("float({0}.data.readonly)", "{0} = frozen({0})"),
    ("float(memoryview({0}).readonly)", "{0} = frozen({0})"),
    ("writes({0})", "{0} = frozen({0})"),
    ("float({0}.T.flags.writeable)", "{0} = frozen({0})"),
    ("float({0}[:2].flags.writeable)", "{0} = frozen({0})"),
    ("float(np.asarray({0}).flags.writeable)", "{0} = frozen({0})"),
    ("float(getattr({0}, 'flags').writeable)", "{0} = frozen({0})"),
    ("float({0}.__array_interface__['data'][1])", "{0} = frozen({0})"),
    ("float({0}.ctypes.data % 8)", "{0} = shifted({0})"),
    ("float(np.require({0}, requirements='W') is {0})", "{0} = frozen({0})"),
    ("float(np.ascontiguousarray({0}) is {0})", "{0} = np.repeat({0}, 2)[::2]"),
]
OTHERS = [
    ("float(j.base.size)", "j = np.arange(9)[:3]"),
    ("float(j.base[5])", "whole[5] = 9"),
    ("float(j.base is whole)", "j = np.arange(6)[:3]"),
    ("float(i.base is whole)", "i = whole[:3]; i = i[:]"),
    ("float(v.base[5])", "v.base[5] = 9.0"),
    ("np.sum(v.base)", "v.base[5] = 9.0"),
    ("float(np.shares_memory(i, j))", "i = whole[:3]"),
    ("float(np.shares_memory(one, two))", "one = zero[2:5]"),
    ("float(np.may_share_memory(one, two))", "one = zero[2:5]"),
    ("float(np.shares_memory(w, v))", "w = v[:]"),
    ("float(d['i'].flags.writeable)", "d['i'] = frozen(i)"),
    ("float(big.dtype.isnative)", "big = big.astype('<i8')"),
    ("float(i.itemsize)", "i = i.astype(np.int32)"),
    ("float(names.itemsize)", "names = names.astype('U5')"),
]

MADE = (
    "np.asfortranarray({})", "np.ascontiguousarray({})", "np.asarray({}, order='F')", "np.asarray({}, None, 'C')",
    "np.asanyarray({}, order='F')", "np.require({}, requirements=['F'])", "np.require({}, None, 'C')",
    "np.array({}, copy=None, order='F')", "{}.astype(float, order='F', copy=False)",
)  # fmt: skip
ASKED = ("{1} is {0}", "{0} is not {1}", "{1} in [{0}]", "id({1}) == id({0})", "{1}.base is None")


@pytest.mark.parametrize("name", ["i", "names", "w", "one"])
def test_memory_of_arrays_outside(name: str) -> None:
    each: list[Any] = [(body.format(name), change.format(name)) for body, change in EACH]
    with warnings.catch_warnings(action="ignore"):
        assert not failures(ARRAYS, each)


def test_memory_that_arrays_outside_share() -> None:
    with warnings.catch_warnings(action="ignore"):
        assert not failures(ARRAYS, OTHERS)


@pytest.mark.parametrize(("first", "other"), ["CF", "FC"])
def test_whether_a_call_gives_its_argument_back(first: str, other: str) -> None:
    """The first trace may be of an array that is given back, or of one that is copied."""
    bodies = [asked.format("w", made.format("w")) for made in MADE for asked in ASKED]
    bodies += ["np.ravel(w).base is None", "w.reshape(-1).base is w"]
    head, calls = "def made(order): return np.ones((2, 3), order=order)", (f"made('{first}')", f"made('{other}')")
    with warnings.catch_warnings(action="ignore"):
        found = [said for body in bodies for said in stale_calls(head, "w", body, calls)]
        for body in bodies:
            found += stale(f"{head}\nw = {calls[0]}", f"float({body})", f"w = {calls[1]}", f"w = {calls[0]}")
    assert not found, "\n".join(found)


KEPT: dict[str, Any] = {}


def _keeps(x: Any) -> Any:
    KEPT["x"] = np.ascontiguousarray(x)
    return KEPT["x"].sum()


@pytest.mark.parametrize("first", [1, -1])
@pytest.mark.parametrize(
    "f",
    [
        np.ascontiguousarray, _keeps, lambda x: np.require(x, requirements="C")[1:],
        lambda x: np.array(x, copy=None, order="F").reshape(2, 2),
    ],
)  # fmt: skip
def test_a_result_is_the_argument_or_a_copy_as_its_layout_says(f: Any, first: int) -> None:
    def shared(g: Any, x: Any) -> list[bool]:
        KEPT.clear()
        return [np.shares_memory(y, x) for y in (g(x), *KEPT.values())]

    g = wg.compile(lambda x: f(x))
    for step in (first, -first, first, -first):
        x = np.arange(4.0)[::step]
        assert shared(g, x) == shared(f, x)
    assert "2 traces" in g.explain()
