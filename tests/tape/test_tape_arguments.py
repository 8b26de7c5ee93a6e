"""Tapes take their function's arguments: in containers, with constants among them, by keyword; or say what is another.

The plain function, run on the same arguments, is the oracle; a changed structure must not pass unseen.
"""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tapes import assert_close, same_bits

import wengert as wg
from wengert.values.trees import leaves

Pair = namedtuple("Pair", "left right")


class Model:
    def __init__(self, w: Any, scale: float = 2.0) -> None:
        self.w, self.scale, self.layers, self.name = w, scale, [w * 0.5, {"b": 1.5}], "m"


class Slotted:
    __slots__ = ("b", "w")

    def __init__(self) -> None:
        self.w, self.b = np.array([0.5, 2.0]), 3.0


W = np.array([0.5, 1.5])


def of_dict(p, x, n):
    return np.sum(p["w"] ** n * x) + p["inner"][1]


def of_objects(m, s):
    return np.sum(m.w * m.scale * m.layers[0]) + m.layers[1]["b"] ** 2 + np.sum(s.w) * s.b


def of_tuples(pair, rest):
    return pair.left * np.sum(pair.right) + rest[0] * rest[1][0]


def of_texts(x, how, index, flags=None):
    y = np.sin(x) if how == "sin" else np.cos(x)
    return np.sum(y[index]) * (2.0 if flags else 1.0)


def of_keywords(x, *more, scale=1.0, **others):
    return np.sum(x) * scale * more[0] + others["shift"]


def of_ordered(d):
    return d["b"] * 2.0 - d["a"]


CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "dict": (of_dict, ({"w": W, "inner": [3, 0.5]}, W + 1, 3), {}),
    "objects": (of_objects, (Model(W), Slotted()), {}),
    "tuples": (of_tuples, (Pair(2.0, W), (1.5, [0.25])), {}),
    "texts": (of_texts, (W, "sin", np.array([0, 1, 1])), {"flags": None}),
    "keywords": (of_keywords, (W, 3.0), {"scale": 2.5, "shift": 1.0}),
    "ordered": (of_ordered, (OrderedDict(b=2.0, a=1.0),), {}),
}


def moved(value: Any) -> Any:
    """The arguments with other numbers."""
    value = copy.deepcopy(value)
    for _, leaf in leaves(value):
        if isinstance(leaf, np.ndarray):
            leaf += 0.25
    return value


@pytest.mark.parametrize("name", CALLS)
def test_compiled_and_played_it_takes_what_its_function_takes(name: str) -> None:
    f, args, kwargs = CALLS[name]
    tape, other = wg.trace(f, *args, **kwargs)[1], (moved(args), moved(kwargs))
    for run in (tape.compile(), tape.play):
        for given, words in ((args, kwargs), other):
            assert same_bits(run(*given, **words), f(*given, **words))


@pytest.mark.parametrize("name", CALLS)
def test_so_does_a_gradtape_which_gives_what_grad_gives(name: str) -> None:
    f, args, kwargs = CALLS[name]
    tape = wg.gradtape(f, *args, **kwargs)
    given, words = moved(args), moved(kwargs)
    value, expected = wg.grad(f, *given, **words)
    for run in (tape.compile(), tape.play):
        again, found = run(*given, **words)
        assert same_bits(again, value) and type(found) is tuple
        assert [path for path, _ in leaves(found)] == [path for path, _ in leaves(tuple(expected))]
        assert list(map(type, found)) == list(map(type, expected))
        assert_close(found, tuple(expected), 1e-15, 0)
    numbers = wg.ngradient(f, *given, argnums=0) if not kwargs else None
    if numbers is not None and isinstance(args[0], np.ndarray | float):
        assert_close(expected[1], numbers, 1e-6, 1e-7)


@pytest.mark.parametrize("name", CALLS)
def test_inputs_one_by_one_are_still_taken(name: str) -> None:
    f, args, kwargs = CALLS[name]
    tape = wg.trace(f, *args, **kwargs)[1]
    given = [op.val for op in tape if isinstance(op, wg.Input) and not op.callee]
    assert same_bits(tape.play(*given), f(*args, **kwargs)) and same_bits(tape.play(), f(*args, **kwargs))


STALE: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...], str]] = [
    (of_dict, CALLS["dict"][1], ({"w": W, "inner": [3, 0.5]}, W, 2), "n was 3 when recorded"),
    (of_dict, CALLS["dict"][1], ({"w": W, "inner": [3, 0.5]}, W, 3.0), "n was 3 when recorded"),
    (of_dict, CALLS["dict"][1], ({"inner": [3, 0.5], "w": W}, W, 3), "p was a dict of 'w', 'inner'"),
    (of_dict, CALLS["dict"][1], ({"w": W, "inner": [3, 0.5, 1.0]}, W, 3), r"p\['inner'\] was a list of 2"),
    (of_dict, CALLS["dict"][1], ({"w": W, "inner": (3, 0.5)}, W, 3), r"p\['inner'\] was a list of 2"),
    (of_dict, CALLS["dict"][1], ({"w": W, "inner": [4, 0.5]}, W, 3), r"p\['inner'\]\[0\] was 3"),
    (of_dict, CALLS["dict"][1], ({"w": W[:1], "inner": [3, 0.5]}, W, 3), r"float64\[2\] when recorded"),
    (of_tuples, CALLS["tuples"][1], ((2.0, W), (1.5, [0.25])), "pair was a Pair of 2"),
    (of_texts, (W, "sin", np.array([0, 1])), (W, "cos", np.array([0, 1])), "how was 'sin'"),
    (of_texts, (W, "sin", np.array([0, 1])), (W, "sin", np.array([0, 0])), r"index was \[0, 1\]"),
    (of_texts, (W, "sin", np.array([0, 1])), (W, "sin", np.array([0.0, 1.0])), r"index was \[0, 1\]"),
    (of_texts, (W, "sin", 0, None), (W, "sin", 0, True), "flags was None"),
    (of_texts, (W, "sin", 0, False), (W, "sin", 0, 0), "flags was False"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args", "others", "said"), STALE)
def test_arguments_of_another_structure_or_value_are_stale(f, args, others, said) -> None:
    tape = wg.trace(f, *args)[1]
    for run in (tape.compile(), tape.play):
        run(*args)
        with pytest.raises(wg.StaleTapeError, match=said):
            run(*others)


def test_other_attributes_and_classes_are_stale() -> None:
    class Another(Model):
        pass

    tape = wg.trace(of_objects, Model(W), Slotted())[1]
    more = Model(W)
    more.bias = 1
    for run in (tape.compile(), tape.play):
        for m in (Another(W), more):
            with pytest.raises(wg.StaleTapeError, match="m was a Model of 4"):
                run(m, Slotted())


def test_objects_that_were_one_stay_one() -> None:
    def f(p, q):
        return np.sum(p[0] * q[0]) + np.sum(p[0])

    shared = [W]
    tape = wg.trace(f, shared, shared)[1]
    other = [W + 1.0]
    for run in (tape.compile(), tape.play):
        assert run(other, other) == f(other, other)
        with pytest.raises(wg.StaleTapeError, match="q was"):
            run(other, [W])


def test_a_missing_argument_or_part_is_told() -> None:
    tape = wg.trace(of_dict, *CALLS["dict"][1])[1]
    with pytest.raises(wg.StaleTapeError, match="missing a required argument: 'n'"):
        tape.play({"w": W, "inner": [3, 0.5]}, W)
    with pytest.raises(wg.StaleTapeError, match=r"p was a dict of 'w', 'inner' when recorded, now it is a dict of 'w'"):
        tape.play({"w": W}, W, 3)
    with pytest.raises(wg.StaleTapeError, match="by position, not z="):
        wg.trace(lambda x: x, 1.0)[1].subtape(2).play(z=1.0)


def test_the_signature_is_the_functions_and_a_derivative_goes_through() -> None:
    tape = wg.trace(of_dict, *CALLS["dict"][1])[1]
    assert str(inspect.signature(tape)) == "(p, x, n)"
    args = moved(CALLS["dict"][1])
    assert_close(wg.grad(tape)(*args), wg.grad(of_dict)(*args), 1e-15, 0)
    assert_close(wg.grad(tape, argnums="x")(*args), wg.grad(of_dict, argnums="x")(*args), 1e-15, 0)
    assert str(inspect.signature(wg.trace(of_keywords, W, 3.0, scale=2.5, shift=1.0)[1])) == "(x, x2, *, scale, shift)"


def test_by_keyword_what_was_given_by_position() -> None:
    tape = wg.trace(of_dict, *CALLS["dict"][1])[1]
    p, x, n = CALLS["dict"][1]
    assert tape.compile()(n=n, p=p, x=x) == tape.play(p, x=x, n=n) == of_dict(p, x, n)


def test_an_edited_tape_takes_its_inputs_one_by_one() -> None:
    tape = wg.trace(of_dict, *CALLS["dict"][1])[1]
    tape.insert(2, wg.Input(1.0, "new"))
    given = [tape[v].val for v in tape.inputs if not tape[v].callee]
    assert str(inspect.signature(tape)).startswith("(x1, ") and len(given) == 4
    assert tape.compile()(*given) == tape.play(*given) == of_dict(*CALLS["dict"][1])


def test_an_argument_that_is_given_back_is_an_input() -> None:
    """It was a constant: played on other numbers, the tape gave those of the trace."""
    tape = wg.trace(lambda p: (p["w"] * 2.0, p), {"w": W})[1]
    doubled, same = tape.play({"w": W + 1.0})
    assert same_bits(doubled, (W + 1.0) * 2.0) and same_bits(same["w"], W + 1.0)
    tape = wg.trace(lambda m: m, Model(W))[1]
    assert same_bits(tape.play(Model(W + 1.0)).w, W + 1.0)


def test_gradients_of_objects_are_objects_of_numbers() -> None:
    """They held the recording's own marks."""
    m, s = Model(W), Slotted()
    _, (_, m_bar, s_bar) = wg.gradtape(of_objects, m, s).play(m, s)
    _, (_, expected, _) = wg.grad(of_objects, m, s)
    assert type(m_bar) is Model and type(s_bar) is Slotted and m_bar.name is None
    assert_close([m_bar, s_bar.w], [expected, np.full(2, s.b)], 1e-15, 0)
    ordered = wg.gradtape(of_ordered, OrderedDict(b=2.0, a=1.0)).play()[1][1]
    assert type(ordered) is OrderedDict and dict(ordered) == {"b": 2.0, "a": -1.0}
