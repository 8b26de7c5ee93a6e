"""Numbers that are formatted and parsed back: rounded as by `round`, whole where no digit is lost, else refused."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

ROUNDED = {
    "f-string": (lambda x: float(f"{x:.3f}"), lambda x: round(x, 3)),
    "f-string of one place": (lambda x: float(f"{x:.1f}"), lambda x: round(x, 1)),
    "format": (lambda x: float(format(x, ".3f")), lambda x: round(x, 3)),
    "str.format": (lambda x: float("{:.3f}".format(x)), lambda x: round(x, 3)),  # noqa: UP032
    "str.format by name": (lambda x: float("{a:8.3f}".format(a=x)), lambda x: round(x, 3)),  # noqa: UP032
    "format_map": (lambda x: float("{a:.3f}".format_map({"a": x})), lambda x: round(x, 3)),
    "percent": (lambda x: float("%.3f" % x), lambda x: round(x, 3)),  # noqa: UP031
    "in a dictionary": (lambda x: float({"a": f"{x:+.2f}"}["a"]), lambda x: round(x, 2)),
    "no places": (lambda x: float(f"{x:.0f}"), lambda x: float(round(x))),
    "significant digits": (lambda x: float(f"{x:.3g}"), lambda x: float(f"{x:.3g}")),
    "int": (lambda x: int(f"{x:.0f}"), round),
    "int of percent": (lambda x: int("%d" % x), int),  # noqa: UP031
    "int of zeros": (lambda x: int(f"{x:05.0f}"), round),
}
WHOLE = {
    "18 places": lambda x: float("{:.18f}".format(x)),  # noqa: UP032
    "17 digits": lambda x: float(f"{x:#.17g}"),
    "percent": lambda x: float("%.20f" % x),  # noqa: UP031
}
LOST = {
    "str": lambda x: float(str(x)),
    "repr": lambda x: float(repr(x)),
    "f-string": lambda x: float(f"{x}"),
    "f-string, padded": lambda x: float(f"{x:>30}"),
    "str.format": lambda x: float("{}".format(x)),  # noqa: UP032
    "percent": lambda x: float("%s" % x),  # noqa: UP031
    "17 digits without zeros": lambda x: float(f"{x:.17g}"),
    "joined": lambda x: float(f"{x:.3f}" + "1"),
    "a part": lambda x: float(f"{x:.3f}"[:4]),
    "two numbers": lambda x: float(f"{x:.0f}{x:.0f}"),
    "digits": lambda x: int(f"{x:.6f}"[2:]),
    "a power of ten": lambda x: float(f"{x:.3e}"),
    "complex": lambda x: complex(f"{x:.3f}").real,
    "np.float64": lambda x: np.float64(f"{x:.3f}"),
}
AT = (1.23456789012, 12.34567, 0.5678, -3.754321)


@pytest.mark.parametrize("name", ROUNDED)
def test_a_rounded_string_is_parsed_as_round_rounds(name):
    parsed, rounded = ROUNDED[name]
    short = () if name in ("percent", "str.format", "significant digits") else (12.5, 0.5, 250.0)
    for x in (*AT, *short, *map(np.float64, AT)):
        value, gradient = wg.value_and_grad(lambda x: x * parsed(x))(x)
        assert value == x * parsed(x)
        assert gradient == rounded(float(x))
        assert wg.jvp(lambda x: x * parsed(x), (x,), (1.0,))[1] == rounded(float(x))


@pytest.mark.parametrize("name", WHOLE)
def test_a_string_of_all_digits_is_the_number(name):
    for x in AT:
        assert wg.value_and_grad(lambda x: x * WHOLE[name](x))(x) == (x * x, 2 * x)


@pytest.mark.parametrize("name", LOST)
def test_a_string_whose_digits_are_not_known_is_refused(name):
    for x in (1.2345678, np.float64(12.5), 1.0, 250.0):
        try:
            LOST[name](x)
        except ValueError:
            continue
        with pytest.raises(wg.NoRuleError, match=r"test_parsed_strings.*a string made from a traced value, so the der"):
            wg.grad(lambda x: x * LOST[name](x))(x)


def test_all_digits_in_an_integer_are_refused():
    with pytest.raises(wg.RefusedCallError, match="all its digits"):
        wg.grad(lambda x: x * int(f"{x * 1e17:.0f}"))(1.25)


@pytest.mark.parametrize("name", ["int", "f-string", "percent", "no places"])
def test_a_tape_and_a_compiled_function_round_anew(name):
    parsed, _ = ROUNDED[name]

    def f(x):
        return x * parsed(x)

    _, tape = wg.trace(f, 2.2345)
    compiled = wg.compile(wg.grad(f))
    for x in (2.2345, 2.3111, 7.75):
        try:
            assert tape.play(x) == f(x)
        except wg.StaleTapeError:
            assert x != 2.2345
        assert compiled(x) == wg.grad(f)(x)


def test_what_the_string_cannot_be_is_raised_as_untraced():
    with pytest.raises(ValueError, match="invalid literal for int"):
        wg.grad(lambda x: x * int(f"{x:.3f}"))(1.5)
