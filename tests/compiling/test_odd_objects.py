"""Containers that are within themselves, and objects that say they are of another class: compiled as they run."""

from __future__ import annotations

import pytest
from changed_outside import check

CONTAINERS = """
m, d, l = [1.0], {"a": 1.0}, [2.0]
t, n = (l, 3.0), [[1.0], 2.0]
m.append(m); d["d"] = d; l.append(t); n[0].append(n)
"""
SHOWN = ("repr({})", "str({})", "f'{{{}}}'", "'%s' % ({},)", "'{{}}'.format({})", "repr([x, {}])[-30:]", "ascii({})")
OBJECTS = """
import abc
class Any_:
  k = 2.0
  @property
  def __class__(self): return dict if self.k else int
class Own(Any_):
  def __init__(self): self.k = 2.0
class Slot:
  __slots__ = ("k",)
  def __init__(self): self.k = 2.0
  @property
  def __class__(self): return dict if self.k else int
class Finds(Own):
  def __getattr__(self, name):
    if name == "found": return self.k
    raise AttributeError(name)
class Asked(abc.ABC): pass
a, o, s, g = Any_(), Own(), Slot(), Finds()
"""
READS = (
    "float(isinstance({}, dict))", "float(isinstance({}, (int, dict)))", "float(isinstance({}, Asked))", "{}.k",
    "float(hasattr({}, 'q'))", "getattr({}, 'found', 5.0)", "float({}.__class__ is dict)", "float(len([{}]))",
    "float({} in [1.0])", "float(type({}).__name__ == 'Own')", "float(len(vars({})))", "float(bool({}))",
)  # fmt: skip


@pytest.mark.parametrize("name", "mdltn")
def test_containers_within_themselves(name: str) -> None:
    check([(CONTAINERS, f"float(len({shown.format(name)}))", "l[0] = m[0] = 12.5", "d['a'] = 12.5") for shown in SHOWN])


@pytest.mark.parametrize("name", "aosg")
def test_objects_that_say_they_are_of_another_class(name: str) -> None:
    change = f"({name} if '{name}' != 'a' else Any_).k ="
    check([(OBJECTS, read.format(name), f"{change} 3.0", f"{change} 0.0", "Asked.register(int)") for read in READS])
