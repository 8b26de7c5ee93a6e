"""Objects of classes derived from built-in ones, of metaclasses and of descriptors written in Python, from outside."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from changed_outside import check, spaces_of

import wengert as wg

HEAD = """
class Mixed:
  factor = 2.0
class Length(float, Mixed):
  def __new__(cls, value, unit="m"):
    made = float.__new__(cls, value); made.unit = unit; return made
  def __mul__(self, other): return (1000.0 if self.unit == "km" else 1.0) * float(self) * other
class Count(int): pass
class Word(str): pass
class Table(dict):
  def __missing__(self, key): return 7.0
  def __getattr__(self, name): return self[name]
class Ordered(collections.OrderedDict): pass
class Default(collections.defaultdict): pass
class Row(list):
  def __getitem__(self, k): return 2.0 * list.__getitem__(self, k)
class Chosen(set): pass
class Pair(tuple): pass
class Grid(np.ndarray):
  def total(self): return float(np.asarray(self).sum())
class Box:
  def __init__(self): self.k = 1.5
  def __repr__(self): return f"Box {self.k}"
km, n, word = Length(3.0, "km"), Count(3), Word("abc")
t, o, e = Table(a=1.5, box=Box()), Ordered(a=1.0, b=2.0), Default(float, a=4.0)
r, c, p = Row([1.0, 2.0]), Chosen({1, 2}), Pair((2.0, Box()))
g = np.arange(3.0).view(Grid); g.scale = 2.0
kept = {np.sin: 2.0, np.cos: 3.0, Box: 4.0}
box = Box()
held = {box, "a", np.sin}
pairs = {(box, np.sin), (box, np.cos)}
"""
CASES: dict[str, tuple[str, ...]] = {
    "km * 2.0": ("km.unit = 'm'", "km = Length(4.0)", "Length.__mul__ = lambda self, other: 3.0", "km = 2.0"),
    "km + 1.0": ("km = Length(4.0, 'km')", "km = Length(-0.0)", "km = Length('nan')", "km = Length('nan')"),
    "km.factor": ("Mixed.factor = 3.0", "Length.factor = 4.0", "km.factor = 5.0"),
    "n + 0.5": ("n = Count(4)", "n.more = 2", "n = 4", "n = True"),
    "len(word) + 0.0": ("word = Word('abcd')", "word = 'ab'", "Word.__len__ = lambda self: 9"),
    "t['a']": ("t['a'] = 2.5", "t['a'] = np.float64(3.0)", "t.clear()", "Table.__missing__ = lambda s, k: 8.0"),
    "t.a": ("t['a'] = 2.5", "t.__dict__['a'] = 9.0", "Table.__getattr__ = lambda self, name: 4.0", "t = {'a': 1.0}"),
    "t['box'].k": ("t['box'].k = 2.5", "t['box'] = Box()", "t['box'].k = 'a'", "del t['box']"),
    "sum(o.values()) * [*o].index('b')": ("o.move_to_end('a')", "o['b'] = 3.0", "o['c'] = 1.0", "o.popitem()"),
    "e['a'] + len(e)": ("e['a'] = 5.0", "e['b']", "e.default_factory = None", "del e['a']"),
    "e.default_factory()": ("e.default_factory = lambda: 2.0", "e.default_factory = int"),
    "r[1] + len(r)": ("r.append(3.0)", "r[1] = 5.0", "Row.__getitem__ = list.__getitem__", "del r[:]"),
    "float(1 in c)": ("c.discard(1)", "c.add(3)", "c = {1}", "Chosen.__contains__ = lambda self, k: True"),
    "p[0] * p[1].k": ("p[1].k = 3.0", "p = Pair((4.0, p[1]))", "p = (1.0, Box())"),
    "g.total() * g.scale": ("g[0] = 5.0", "g.scale = 3.0", "g = g[::-1]", "g = g.astype(np.float32)", "g = 1.0"),
    "kept[np.sin]": ("kept[np.sin] = 5.0", "del kept[np.cos]", "kept = {Box: 1.0, np.sin: 6.0}"),
    "sum(kept.values())": ("kept[Box] = 5.0", "kept[np.tan] = 5.0", "kept.clear()"),
    "float(box in held) + box.k": ("box.k = 3.0", "held.discard(box)", "box = Box()", "held.add(box)"),
    "float(np.sin in held)": ("held.discard(np.sin)", "held.add(1)", "held = frozenset(held)"),
    "float((box, np.sin) in pairs)": ("pairs.discard((box, np.sin))", "pairs.add((box, np.tan))", "box = Box()"),
    "float([isinstance(a, str) for a in held].index(True) >= 0)": ("held.discard('a')",),
}
METACLASSES = """
class Meta(type):
  size = 2.0
  @property
  def twice(cls): return 2.0 * cls.k
  def method(cls): return cls.k + 1.0
  def __getattr__(cls, name):
    if name.startswith("x"): return 4.0
    raise AttributeError(name)
  def __call__(cls, *args):
    made = super().__call__(*args); made.born = 1.0; return made
class A(metaclass=Meta):
  k = 1.5
  def __init__(self, k=2.0): self.own = k
  def area(self): return self.own * self.k
class B(A): pass
a, b = A(), B(3.0)
class Cell:
  def __init__(self, start): self.start = start
  def __get__(self, obj, cls): return self.start if obj is None else obj.__dict__.get("cell", self.start)
  def __set__(self, obj, value): obj.__dict__["cell"] = value * 2.0
class Named(property): pass
class Holder:
  cell = Cell(1.5)
  other = Named(lambda self: self.k)
  def __init__(self): self.k = 2.5
h = Holder()
def sets(v):
  made = Holder(); made.cell = v; return made.cell
class Lazy(property):
  def __init__(self, method):
    self.method, self.name = method, "_" + method.__name__
    property.__init__(self, self._get)
  def _get(self, owner):
    if self.name not in owner.__dict__: owner.__dict__[self.name] = self.method(owner)
    return owner.__dict__[self.name]
class Tagged(property): pass
class Part:
  k = 2.0
  @Lazy
  def twice(self): return self.k * 2
  @Tagged
  def tagged(self): return self.k * 3
part = Part()
Part.tagged.unit = 4.0
"""
OF_METACLASSES: dict[str, tuple[str, ...]] = {
    "a.area()": ("A.k = 2.5", "a.own = 3.0", "B.k = 9.0", "a = b", "a.__class__ = B", "A.area = lambda self: 7.0"),
    "B.twice": ("A.k = 2.5", "B.k = 3.5", "Meta.twice = property(lambda cls: 3.0)", "Meta.twice = 5.0"),
    "B.method()": ("A.k = 2.5", "Meta.method = lambda cls: 5.0", "B.method = lambda: 6.0"),
    "B.size": ("Meta.size = 3.0", "A.size = 4.0", "B.size = 5.0", "Meta.size = property(lambda cls: 6.0)"),
    "B.xy": ("Meta.xy = 5.0", "A.xy = 6.0", "Meta.__getattr__ = lambda cls, name: 7.0"),
    "float(hasattr(B, 'q'))": ("Meta.q = 1.0", "del Meta.q", "A.q = 2.0"),
    "A(3.0).born * A(3.0).area()": ("A.k = 4.0", "Meta.__call__ = type.__call__",),
    "float(len(B.__mro__))": ("B.__bases__ = (Mid,)", "class C(B): pass", "B = C"),
    "Part().twice": (
        "Part.k = 3.0", "Part.twice.method = lambda self: 9.0", "Part.twice.name = 'other'",
        "Lazy._get = lambda self, owner: 5.0", "Part.twice.__init__(lambda self: 6.0)",
    ),
    "part.twice": ("part.__dict__['_twice'] = 8.0", "part.k = 7.0", "del part.__dict__['_twice']"),
    "part.tagged * Part.tagged.unit": (
        "part.k = 7.0", "Part.tagged.unit = 2.0", "Part.tagged.__init__(lambda self: 6.0)",
    ),
    "h.cell": ("h.cell = 4.0", "Cell.__get__ = lambda s, o, c: 9.0", "Holder.cell = 3.0"),
    "Holder.cell": ("vars(Holder)['cell'].start = 2.0", "Holder.cell = Cell(4.0)", "Holder.cell = 1.0"),
    "h.other": ("h.k = 3.0", "Holder.other = Named(lambda self: 7.0)", "h.__dict__['other'] = 4.0"),
    "sets(3.0)": ("Cell.__set__ = lambda s, o, v: o.__dict__.update(cell=v)", "del Cell.__set__", "Holder.cell = 2.0"),
}  # fmt: skip
ADDRESSES = """
class Key:
  def __init__(self, k): self.k = k
  def __hash__(self): return hash(("key", self.k))
  def __eq__(self, other): return self.k == other.k
class Plain: k = 2.0
q, d, w = Plain(), {}, np.ones(2)
d[id(q)] = 3.0
key = Key(1)
found = {Key(1): 2.0, Key(2): 3.0}
"""
OF_ADDRESSES: dict[str, tuple[str, ...]] = {
    "d.get(id(q), 5.0)": ("q = Plain()", "d[id(q)] = 7.0", "d.clear()"),
    "float(id(q) == id(Plain()))": ("q = None",),
    "d.get(id(w), 5.0) * w[0]": ("d[id(w)] = 7.0", "w = np.full(2, 4.0)", "d.clear()"),
    "float(id(w) == id(np.ones(2))) + (id(w) == id(w.T))": ("w = np.ones(3)",),
    "float(hash(q) == hash(q))": ("q = Plain()", "Plain.__hash__ = None"),
    "float(hash(key) == hash(Key(1)))": ("key.k = 2", "key = Key(3)", "Key.__hash__ = lambda self: 4"),
    "found[key]": ("key.k = 2", "key = Key(1)", "Key.__eq__ = lambda self, other: False"),
}
MID = "\nclass Mid(A): k = 5.0\n"


@pytest.mark.parametrize("body", CASES)
def test_what_objects_of_built_in_classes_hold(body: str) -> None:
    check([(HEAD, body, *CASES[body])])


@pytest.mark.parametrize("body", OF_METACLASSES)
def test_metaclasses_and_descriptors(body: str) -> None:
    check([(METACLASSES + MID, body, *OF_METACLASSES[body])])


@pytest.mark.parametrize("body", OF_ADDRESSES)
def test_ids_and_hashes(body: str) -> None:
    check([(ADDRESSES, body, *OF_ADDRESSES[body])])


HEADS = dict.fromkeys(CASES, HEAD) | dict.fromkeys(OF_METACLASSES, METACLASSES) | dict.fromkeys(OF_ADDRESSES, ADDRESSES)


@pytest.mark.parametrize("body", HEADS)
def test_they_are_compiled(body: str) -> None:
    space, _ = spaces_of(f"{HEADS[body]}\ndef f(x): return np.sum(x * x) * ({body})\n")
    compiled = wg.compile(space["f"], quiet=True)
    compiled(np.ones(2))
    assert "uncompiled" not in compiled.explain(), compiled.explain()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("t.update(a=2.0)", "it changes a Table"),
        ("r.append(3.0)", "it changes a Row"),
        ("g.fill(3.0)", "it changes a Grid"),
        ("d.__setitem__(id(Plain()), 1.0)", "id of an object that it makes"),
    ],
)
def test_changes_of_them_run_uncompiled(body: str, reason: str) -> None:
    spaces = spaces_of(f"{HEAD}{ADDRESSES}\ndef f(x): {body}; return x * x")
    compiled = wg.compile(wg.grad(spaces[0]["f"]), quiet=True)
    for x in (2.0, 3.0):
        assert compiled(x) == wg.grad(spaces[1]["f"])(x)
        for name in ("t", "r", "g"):
            assert repr(spaces[0][name]) == repr(spaces[1][name])
    assert reason in compiled.explain()


def test_the_id_of_an_object_that_the_function_makes_is_not_returned() -> None:
    def f(x):
        return x * 1.0, id(object())

    compiled = wg.compile(f, quiet=True)
    compiled(2.0)
    assert "the id of an object that it makes" in compiled.explain()


def test_the_id_of_an_array_is_that_of_the_array_given() -> None:
    given, other = np.ones(2), np.full(2, 3.0)
    known = {id(given): 2.0}
    compiled = wg.compile(lambda x: np.sum(x) * known.get(id(x), 5.0), quiet=True)
    assert [compiled(x) for x in (given, other, given, other)] == [4.0, 30.0, 4.0, 30.0]


def test_a_set_keeps_its_order_when_a_trace_is_given_up() -> None:
    """Numbers that fall into one place of the table of a set come in the order in which they were added."""
    numbers = {8, 0, 16, 24}
    numbers.discard(0)
    numbers.add(0)
    before = [*numbers]

    def f(x):
        if 8 in numbers:
            return np.array([x], dtype=object) * 2.0
        return x

    compiled = wg.compile(f, quiet=True)
    with warnings.catch_warnings(action="ignore"):
        compiled(2.0)
    assert [*numbers] == before
