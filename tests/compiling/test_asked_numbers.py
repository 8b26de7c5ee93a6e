"""Numbers that C asks objects for, by `__float__` or item by item: a compiled function is never stale for them."""

from __future__ import annotations

import pytest
from changed_outside import check, spaces_of

import wengert as wg

OBJECTS = """
import cmath
class A:
  k = 2.0
  def __init__(self, k=2.0): self.k = k
  def __float__(self): return self.k
class OfClass(A):
  def __init__(self): pass
class OfGlobal:
  def __float__(self): return k
  def __complex__(self): return k + 1j
class OfAnother:
  def asked(self): return self.a.k * 2.0
  __float__ = asked
class Items:
  def __init__(self): self.k = 3.0
  def __len__(self): return 2
  def __getitem__(self, i):
    if i > 1: raise IndexError
    return self.k * (i + 1)
class Steps:
  def __init__(self, k=3.0): self.k, self.left = k, 2
  def __iter__(self): return Steps(self.k)
  def __next__(self):
    self.left -= 1
    if self.left < 0: raise StopIteration
    return self.k
class Yields:
  k = 3.0
  def __iter__(self):
    yield self.k
class Shown:
  def __init__(self): self.w = np.ones(2)
  def __array__(self, dtype=None, copy=None): return self.w
k, a, c, g, o = 2.0, A(), OfClass(), OfGlobal(), OfAnother()
q, s, y, w, o.a = Items(), Steps(), Yields(), Shown(), a
def stored(a, key):
  w = np.zeros(2)
  w[key] = a
  return w[1]
def filled(a):
  w = np.zeros(2)
  w.fill(a)
  return w[1]
"""
CHANGES = (
    "a.k = q.k = s.k = k = OfClass.k = Yields.k = 7.0; w.w = np.full(2, 4.0)",
    "a.k = 3.0; k = 0.5; q.k = 4.0; s.k = y.k = 2.5; OfClass.k = 1.5; w.w[0] = 9.0",
)
OF_ONE = (
    *[f"math.{name}({{}})" for name in ("sqrt", "exp", "log", "sin", "floor", "ceil", "gamma", "ulp", "isfinite")],
    "math.pow({}, 2)", "math.pow(2, {})", "math.hypot({}, 1.0)", "math.ldexp({}, 2)", "math.frexp({})[0]",
    "math.atan2(1.0, {})", "math.log(8.0, {})", "math.fmod({}, 1.5)", "math.modf({})[0]", "math.isclose({}, 2.0)",
    "math.copysign({}, -1.0)", "math.fsum([{0}, {0}])", "math.dist([{}], [1.0])", "abs(cmath.sqrt({}))",
    "cmath.polar({})[0]", "np.float64({})", "np.float32({})", "abs(np.complex128({}))", "np.fromiter([{}], float)[0]",
    "np.array([{0}, {0}], float)[1]", "np.array({}, dtype=float)", "np.asarray([[1.0, {}]], dtype=float)[0, 1]",
    "np.full(2, {}, float)[0]", "np.insert([1.0], 0, {})[0]", "stored({}, 1)", "stored({}, slice(None))",
    "stored([1.0, {}], slice(None))", "filled({})", "complex(1.0, {}).imag", "float('%.3f' % {})",
    "float({})", "abs(complex({}))", "sum(map(float, [{0}, {0}]))", "{0}.__float__()", "type({0}).__float__({0})",
)  # fmt: skip
OF_MANY = (
    "np.array({}, float)[0]", "np.array([{0}, {0}], float)[1, 0]", "np.add({}, 1.0)[0]", "np.dot({}, [1.0, 2.0])",
    "np.sum({})", "np.interp(2.5, {}, [0.0, 1.0])", "np.sqrt({})[1]", "stored({}, slice(None))",
    "np.stack([{0}, {0}])[0, 1]", "math.dist({}, [1.0, 1.0])", "math.fsum({})", "sum({})", "max({})", "sorted({})[1]",
    "[*{}][1]", "[v for v in {}][1]", "float(3.0 in {})", "float(4.0 not in {})",
    "np.fromiter({}, float)[0]", "float(len(set({})))",
)  # fmt: skip
OF_STRINGS = (
    "repr({})", "str({})", "f'{{{}}}'", "f'{{{}!r:>9}}'", "repr([{}])", "f'{{[{}]}}'", "str({{1: {}}})", "repr(({},))",
    "'%s' % ({},)", "'%s' % [{}]", "','.join(map(str, [{}]))", "str({{{}}})", "format({}, '')", "ascii([[{}]])",
    "'%(a)s' % {{'a': {}}}", "str(collections.deque([{}]))", "'{{}}'.format({})", "str(collections.OrderedDict(a={}))",
    "repr(np.array([{}], object))", "str(types.SimpleNamespace(v={}))",
)  # fmt: skip
PRINTED = """
class Words:
  def __init__(self): self.k = 2.0
  def __repr__(self): return repr(self.k)
class Formatted(Words):
  def __str__(self): return f"{self.k:.2f}"
class Filled(Words):
  def __repr__(self): return "x" * int(self.k)
u, v, z = Words(), Formatted(), Filled()
"""


def test_c_code_that_asks_an_object_for_its_string_sees_what_it_is_now() -> None:
    changes = ("u.k = v.k = z.k = 11.0", "u.k = v.k = z.k = 4.25")
    check([(PRINTED, f"len({body.format(name)})", *changes) for body in OF_STRINGS for name in "uvz"])


def test_c_code_that_asks_an_object_for_its_number_sees_what_it_is_now() -> None:
    check([(OBJECTS, body.format(name), *CHANGES) for body in OF_ONE for name in "acgo"])


def test_c_code_that_asks_an_object_for_its_items_sees_what_they_are_now() -> None:
    check([(OBJECTS, body.format(name), *CHANGES) for body in OF_MANY for name in "qsyw"])


@pytest.mark.parametrize("body", ["float(a)", "a.__float__()", "sum(q)", "q[1]", "max(*q)", "float(3.0 in y)"])
def test_numbers_that_are_followed_are_compiled(body: str) -> None:
    (space, _) = spaces_of(f"{OBJECTS}\ndef f(x): return x * ({body})\n")
    g = wg.compile(space["f"], strict=True)
    for change in ("", *CHANGES):
        exec(change, space)
        assert g(2.0) == space["f"](2.0)
