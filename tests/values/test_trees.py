"""Fresh leaves go in, the caller's own objects come back: `trees.py` and `inputs.py`."""

from __future__ import annotations

import enum
import functools
import math
import threading
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.recording.inputs import Swaps
from wengert.recording.subclasses import renewed
from wengert.values.trees import is_container, leaves, mirror, path_text, rebuild

T = TypeVar("T")


class Fresh:
    """A `make` that remembers what it made."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Any, Any]] = []

    def __call__(self, leaf: Any, path: str) -> Any:
        new = renewed(leaf)
        self.made.append((path_text(path), leaf, new))
        return new

    def paths(self) -> list[str]:
        return [path for path, _, _ in self.made]


def entered(value: Any, name: str = "x") -> tuple[Any, Swaps, Fresh]:
    make = Fresh()
    swaps = Swaps(make)
    return swaps.enter(value, name), swaps, make


def entered_callable(f: Any, make: Any) -> tuple[Any, Swaps]:
    swaps = Swaps(make)
    return swaps.enter_callable(f), swaps


def tags(value: Any) -> Any:
    """A gradient whose leaves are the paths of the value's leaves."""
    _made, swaps, make = entered(value)
    names = {id(new): path for path, _, new in make.made}
    swaps.restore()
    (gradient,) = swaps.mirrors(lambda leaf: names[id(leaf)])
    return gradient


@dataclass
class Layer:
    w: Any
    b: Any
    name: str = "layer"


@dataclass(frozen=True)
class Frozen:
    w: Any
    units: int = 3


@dataclass(slots=True)
class Slotted:
    w: Any
    b: Any = field(default=0.5)


@dataclass(frozen=True, slots=True)
class FrozenSlots(Generic[T]):
    w: Any


class Mangled:
    __slots__ = ("__hidden", "unset")

    def __init__(self, hidden: Any) -> None:
        self.__hidden = hidden

    def hidden(self) -> Any:
        return self.__hidden


class Point(NamedTuple):
    x: Any
    y: Any


class Hostile:
    """Everything that a traversal could trip over raises."""

    def __init__(self, w: Any) -> None:
        self.__dict__["w"] = w

    @property
    def loss(self) -> float:
        raise AssertionError("a property ran")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AssertionError("__setattr__ ran")

    def __getattribute__(self, name: str) -> Any:
        if name == "__dict__" and object.__getattribute__(self, "__dict__").get("armed"):
            raise AssertionError("__getattribute__ ran")
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        raise AssertionError("__eq__ ran")

    def __hash__(self) -> int:
        raise AssertionError("__hash__ ran")

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("__deepcopy__ ran")


class HostileDict(dict):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise AssertionError("__iter__ ran")

    def __getitem__(self, key: Any) -> Any:
        raise AssertionError("__getitem__ ran")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise AssertionError("__setitem__ ran")

    def keys(self) -> Any:
        raise AssertionError("keys ran")

    def items(self) -> Any:
        raise AssertionError("items ran")


class HostileList(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise AssertionError("__iter__ ran")

    def __getitem__(self, key: Any) -> Any:
        raise AssertionError("__getitem__ ran")

    def __len__(self) -> int:
        raise AssertionError("__len__ ran")


def make_array() -> np.ndarray:
    return np.array([1.0, 2.0])


LEAVES = [
    1.5,
    1 + 2j,
    np.float32(2),
    np.complex64(1j),
    make_array(),
    make_array().astype(np.float16),
    np.array(3.0),
]
OTHERS = [
    1,
    True,
    "s",
    None,
    np.arange(3),
    np.int64(2),
    math.sin,
    np,
    Layer,
    {1.0},
    object(),
    np.array([None]),
]


@pytest.mark.parametrize("leaf", LEAVES, ids=repr)
def test_a_leaf_is_entered_and_given_back(leaf: Any) -> None:
    inside, swaps, make = entered(leaf)
    assert inside is not leaf and type(inside) is type(leaf)
    assert make.paths() == ["x"]
    assert swaps.leave(inside) is leaf
    assert swaps.mirrors(lambda f: ("gradient", f is inside)) == (("gradient", True),)


@pytest.mark.parametrize("other", OTHERS, ids=lambda it: type(it).__name__)
def test_anything_else_stays_and_has_no_gradient(other: Any) -> None:
    inside, swaps, make = entered(other)
    assert inside is other and make.made == []
    assert swaps.mirrors(renewed) == (None,)
    assert mirror([other], renewed) == [None]


def test_classes_enums_and_library_objects_are_no_containers() -> None:
    class Level(enum.Enum):
        LOW = 0.5

    for value in (
        Level.LOW,
        Layer,
        threading.Lock(),
        threading.Thread(),
        np.random.default_rng(),
        ValueError(1.0),
    ):
        assert not is_container(value)
    for value in ([], {}, (), Layer(1, 2), SimpleNamespace(), OrderedDict(), defaultdict(), Point(1, 2)):
        assert is_container(value)


@pytest.mark.parametrize(
    "make_container",
    [
        lambda a, b: [a, b],
        lambda a, b: {"a": a, "b": b},
        lambda a, b: OrderedDict(a=a, b=b),
        lambda a, b: defaultdict(list, a=a, b=b),
        lambda a, b: HostileDict(a=a, b=b),
        lambda a, b: HostileList((a, b)),
        lambda a, b: SimpleNamespace(a=a, b=b),
        lambda a, b: Layer(a, b),
        lambda a, b: Slotted(a, b),
        lambda a, b: Frozen(a, b),  # type: ignore[arg-type]
        lambda a, b: Hostile([a, b]),
    ],
)
def test_a_container_with_an_identity_keeps_it(make_container: Any) -> None:
    a, b = make_array(), 2.5
    container = make_container(a, b)
    before = leaves(container, "x")
    inside, swaps, make = entered(container)
    assert inside is container
    assert make.paths() == [path for path, _ in before]
    assert [leaf for _, leaf in leaves(container)] != [] and all(
        now is new for (_, now), (_, _, new) in zip(leaves(container), make.made, strict=True)
    )
    swaps.restore()
    for _ in range(2):
        assert {id(leaf) for _, leaf in leaves(container)} == {id(a), id(b)}
        swaps.restore()


@pytest.mark.parametrize("make_tuple", [lambda a, b: (a, b), Point, namedtuple("P", "a b")])
def test_a_tuple_is_rebuilt_and_given_back(make_tuple: Any) -> None:
    own = make_tuple(make_array(), (1.0, "s")) if make_tuple is not Point else Point(make_array(), (1.0, "s"))
    holder = {"t": own}
    _inside, swaps, _ = entered(holder)
    assert holder["t"] is not own and type(holder["t"]) is type(own)
    assert swaps.leave(holder["t"]) is own
    swaps.restore()
    assert holder["t"] is own


def test_a_tuple_without_leaves_is_not_rebuilt() -> None:
    own = ("a", 1, [2.0])
    inside, swaps, _ = entered(own)
    assert inside is own
    swaps.restore()
    assert own[2][0] == 2.0


def test_paths_say_where() -> None:
    value = {"w": [make_array(), {"b": 1.0}], "p": Point(1.0, Layer(2.0, 3.0)), 3: (4.0,)}
    assert entered(value)[2].paths() == [
        "x['w'][0]", "x['w'][1]['b']", "x['p'].x", "x['p'].y.w", "x['p'].y.b", "x[3][0]",
    ]  # fmt: skip


def test_gradients_mirror_the_structure() -> None:
    value = {
        "w": [make_array(), 3, None],
        "p": Point(1.0, "label"),
        "l": Layer(2.0, (1, 2.0)),
        "f": Frozen(1.0),
    }
    gradient = tags(value)
    assert gradient == {
        "w": ["x['w'][0]", None, None],
        "p": Point("x['p'].x", None),
        "l": Layer("x['l'].w", (None, "x['l'].b[1]"), None),  # type: ignore[arg-type]
        "f": Frozen("x['f'].w", None),  # type: ignore[arg-type]
    }
    assert gradient is not value and type(gradient["p"]) is Point


def test_gradients_of_objects_are_made_without_running_their_code() -> None:
    assert tags(FrozenSlots(1.0)) == FrozenSlots("x.w")
    assert tags(Mangled(1.0)).hidden() == "x._Mangled__hidden"
    assert not hasattr(tags(Mangled(1.0)), "unset")
    assert vars(tags(Hostile(1.0))) == {"w": "x.w"}
    assert dict.__eq__(tags(HostileDict(a=1.0)), {"a": "x['a']"})
    assert list.__eq__(tags(HostileList((1.0,))), ["x[0]"])
    ordered = OrderedDict(a=1.0, b=2.0)
    ordered.move_to_end("a")
    assert list(tags(ordered).items()) == [("b", "x['b']"), ("a", "x['a']")]
    default = tags(defaultdict(list, a=1.0))
    assert type(default) is defaultdict and default["new"] == []


def test_a_shared_array_is_one_leaf_and_a_shared_constant_is_two() -> None:
    a, c = make_array(), 0.1
    value = [a, a, c, c]
    _, _, make = entered(value)
    assert make.paths() == ["x[0]", "x[2]", "x[3]"]
    assert value[0] is value[1] and value[2] is not value[3]
    assert tags([a, a, c, c]) == ["x[0]", "x[0]", "x[2]", "x[3]"]
    pair = (c, c)
    assert tags([pair, pair]) == [("x[0][0]", "x[0][1]"), ("x[1][0]", "x[1][1]")]


def test_a_shared_container_has_one_gradient() -> None:
    layer = Layer(make_array(), 1.0)
    gradient = tags([layer, layer])
    assert gradient[0] is gradient[1]


def test_cycles() -> None:
    node = SimpleNamespace(w=1.0)
    node.self = node
    ring: list[Any] = [2.0]
    pair = (ring, 3.0, node)
    ring.append(pair)
    _inside, swaps, make = entered(pair)
    assert make.paths() == ["x[1]", "x[0][0]", "x[0][1][1]", "x[2].w"]
    swaps.restore()
    assert ring[1] is pair and node.w == 1.0 and node.self is node
    gradient = tags(node)
    assert gradient.self is gradient and gradient.w == "x.w"
    assert tags(ring)[1][0] is not ring


def test_a_long_chain_needs_no_recursion() -> None:
    head = None
    for i in range(3_000):
        head = SimpleNamespace(w=float(i), rest=head)
    _, swaps, make = entered(head)
    assert len(make.made) == 3_000
    swaps.restore()


def test_what_the_function_replaced_stays_and_what_it_moved_is_given_back() -> None:
    a, b, c = make_array(), make_array(), 1.5
    params = {"a": a, "b": b, "t": (c, a)}
    _, swaps, _ = entered(params)
    new = np.ones(2)
    params["b"] = new
    params["moved"] = [params["a"], (params["t"][0], "x")]
    params["t2"] = params.pop("t")
    swaps.restore()
    assert list(params) == ["a", "b", "moved", "t2"]
    assert params["a"] is a and params["b"] is new
    assert params["moved"][0] is a and params["moved"][1][0] is c
    assert params["t2"][0] is c


def test_the_gradient_has_the_form_that_the_argument_had_on_entry() -> None:
    params = [1.0, [2.0]]
    _, swaps, _make = entered(params)
    params.append(3.0)
    params[1].clear()  # type: ignore[union-attr]
    swaps.restore()
    assert swaps.mirrors(lambda leaf: "g") == (["g", ["g"]],)


def test_a_result_is_given_back_in_place_or_rebuilt() -> None:
    a = make_array()
    layer = Layer(a, 2.0)
    _, swaps, _ = entered(layer)
    made_by_f = [layer.w, "s"]
    result = (made_by_f, layer.w, layer)
    out = swaps.leave(result)
    assert out[0] is made_by_f and made_by_f[0] is a and out[1] is a and out[2] is layer
    untouched = (1, [np.ones(2)])
    assert swaps.leave(untouched) is untouched
    assert swaps.leave(None) is None
    assert swaps.leave(3.5) == 3.5


def test_restored_when_making_a_leaf_fails() -> None:
    a = make_array()
    params = {"a": a, "n": [1.0, (a, 2.0)], "z": 3.0}
    own_tuple = params["n"][1]  # type: ignore[index]

    def make(leaf: Any, path: str) -> Any:
        if path_text(path).endswith("['z']"):
            raise KeyboardInterrupt
        return renewed(leaf)

    with pytest.raises(KeyboardInterrupt):
        Swaps(make).enter(params)
    assert params["a"] is a and params["n"][1] is own_tuple  # type: ignore[index]


def test_arguments_of_one_call_share_what_they_share() -> None:
    layer, a = Layer(make_array(), 2.0), make_array()
    make = Fresh()
    swaps = Swaps(make)
    first, second = swaps.enter(layer, "p"), swaps.enter([layer], "q")
    x, y = swaps.enter(a, "x"), swaps.enter(a, "y")
    assert first is second[0] and make.paths() == ["p.w", "p.b", "x", "y"] and x is not y
    names = {id(new): path for path, _, new in make.made}
    gradients = swaps.mirrors(lambda leaf: names[id(leaf)])
    assert gradients[1] == [Layer("p.w", "p.b", None)]  # type: ignore[arg-type]
    assert gradients[2:] == ("x", "y")
    swaps.restore()
    assert layer.b == 2.0 and swaps.leave(y) is a


def test_two_calls_one_inside_the_other() -> None:
    a = make_array()
    params = [a]
    _, outer, _ = entered(params)
    middle = params[0]
    _, inner, _ = entered(params)
    assert params[0] is not middle
    inner.restore()
    assert params[0] is middle
    outer.restore()
    assert params[0] is a


# Callables


def callable_tags(f: Any) -> Any:
    make = Fresh()
    _, swaps = entered_callable(f, make)
    names = {id(new): path for path, _, new in make.made}
    (form,) = swaps.mirrors(lambda leaf: names[id(leaf)])
    swaps.restore()
    return form


def test_a_closure() -> None:
    a, c, n, params = make_array(), 2.0, 3, {"w": make_array()}
    own = params["w"]

    def f(x: Any) -> Any:
        nonlocal c
        c = c + 1
        return a * x + c * n + params["w"]

    assert callable_tags(f) == {"a": "f.a", "c": "f.c", "params": {"w": "f.params['w']"}}
    inside, swaps = entered_callable(f, Fresh())
    assert inside is f
    a_inside = f.__closure__[0].cell_contents  # type: ignore[index]
    assert a_inside is a and params["w"] is not own  # this scope sees the same cell
    f(1.0)
    swaps.restore()
    assert a is not a_inside and params["w"] is own
    assert c == 3.0  # what the function replaced stays


def test_helpers_recursion_and_empty_cells() -> None:
    w, unused = 2.0, [1, 2]

    def helper(x: float) -> float:
        return w * x

    def fact(n: int) -> float:
        return w if n == 0 else helper(n) * fact(n - 1) + len(unused)

    def early() -> float:
        return late

    assert callable_tags(fact) == {"helper": {"w": "f.helper.w"}, "w": "f.helper.w"}
    assert callable_tags(early) is None
    late = 1.0
    assert callable_tags(early) == {"late": "f.late"}
    assert callable_tags(lambda x: x) is None and callable_tags(math.sin) is None and callable_tags(Layer) is None


def test_methods_partials_and_callable_objects() -> None:
    class Model:
        def __init__(self, w: Any) -> None:
            self.w = w
            self.name = "model"

        def loss(self, x: Any) -> Any:
            return self.w * x

        __call__ = loss

    model = Model(3.0)
    for f in (model, model.loss):
        form = callable_tags(f)
        assert type(form) is Model and form.name is None
        assert form.w == ("f.w" if f is model else "f.__self__.w")
    assert model.w == 3.0

    def g(a: Any, x: Any, *, k: Any) -> Any:
        return a * x * k

    own = functools.partial(g, 2.0, k=[4.0, 1])
    make = Fresh()
    inside, swaps = entered_callable(own, make)
    assert inside(3.0, k=1.0) == 6.0 and inside.args[0] is make.made[0][2]
    assert swaps.leave(inside) is own
    assert callable_tags(own) == {
        "func": None,
        "args": ("f.args[0]",),
        "keywords": {"k": ["f.keywords['k'][0]", None]},
    }
    assert callable_tags(functools.partial(g, 2)) is None

    def outer(x: Any) -> Any:
        return own(x) + model.loss(x)

    form = callable_tags(outer)
    assert form["model"].w == "f.model.w" and form["own"]["args"] == ("f.own.args[0]",)
    assert outer.__closure__[1].cell_contents is own  # type: ignore[index]


def test_a_method_of_a_tuple() -> None:
    class Line(NamedTuple):
        slope: float

        def at(self, x: float) -> float:
            return self.slope * x

    f = Line(2.0).at
    inside, swaps = entered_callable(f, Fresh())
    assert inside(3.0) == 6.0 and inside.__self__.slope is not f.__self__.slope  # type: ignore[attr-defined]
    assert swaps.mirrors(lambda leaf: "g") == (Line("g"),)  # type: ignore[arg-type]


def test_a_closure_is_restored_when_making_a_leaf_fails() -> None:
    a, b = make_array(), make_array()
    own = a

    def f() -> Any:
        return a + b

    def make(leaf: Any, path: str) -> Any:
        if path_text(path) == "f.b":
            raise ValueError
        return renewed(leaf)

    with pytest.raises(ValueError):  # noqa: PT011
        entered_callable(f, make)
    assert a is own


# Any structure at all

structures = st.recursive(
    st.one_of(st.floats(), st.integers(), st.text(max_size=2), st.none(), st.builds(np.zeros, st.integers(0, 3))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.builds(Layer, inner, inner),
        st.builds(Slotted, inner, inner),
        st.builds(Point, inner, inner),
    ),
    max_leaves=20,
)


@given(structures)
def test_entering_and_restoring_is_the_identity(value: Any) -> None:
    before = leaves(value)
    inside, swaps, _make = entered(value)
    assert leaves(inside) == [] or all(
        leaf is not own for (_, leaf), (_, own) in zip(leaves(inside), before, strict=True)
    )
    inside = swaps.leave(inside)
    swaps.restore()
    for structure in (value, inside):
        assert [path for path, _ in leaves(structure)] == [path for path, _ in before]
        assert all(leaf is own for (_, leaf), (_, own) in zip(leaves(structure), before, strict=True))


@given(structures)
def test_a_mirror_has_a_gradient_at_the_path_of_each_leaf(value: Any) -> None:
    gradient = mirror(value, renewed)
    assert [path for path, _ in leaves(gradient)] == [path for path, _ in leaves(value)]
    copied = rebuild(value, lambda leaf, path: leaf)
    assert repr(copied) == repr(value)


class Shifting:
    """A key whose hash changes, as that of a number does which depends on a precision."""

    at = 1

    def __hash__(self) -> int:
        return self.at

    def __eq__(self, other: object) -> bool:
        return type(other) is Shifting and self.at == other.at


def test_a_key_that_is_found_no_more() -> None:
    before, during = Shifting(), Shifting()
    held: dict[Any, Any] = {before: {"w": 2.0}, "u": 3.0}
    before.at = 2
    held[during] = {"v": 4.0}

    def f(x: float) -> float:
        during.at = 3
        return x * held["u"]

    value, gradients = wg.grad(f, 1.5)
    assert (value, gradients[1]) == (4.5, 3.0)
    assert [*held.values()] == [{"w": 2.0}, 3.0, {"v": 4.0}]
