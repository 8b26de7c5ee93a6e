"""Random programs that take derivatives inside of derivatives, as source: each runs with wengert, and with dual numbers.

A program is a function `main(s, v, m, z)` of a float, a vector, a matrix and a complex vector that gives one float.
It has loops, branches, writes, views, containers, objects, generators, closures, checkpoints, functions with rules, and
inner derivatives of all of this in random forms, by what is written in `FORMS`, down to `deepest` levels.
"""

# ruff: noqa: E501 (one line a list of forms)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nested_statements import Statements

REVERSE = ("grad", "value_and_grad", "vjp", "twice", "later", "kept", "hvp", "gradients")
FORWARD = ("jvp", "linearize", "pushed later", "forward over reverse", "reverse over forward")
FAMILY = ("jacobian", "hessian", "product", "slope", "batched")


class Writer(Statements):
    """One program in the making."""

    def derivatives(self) -> list[tuple[Callable[..., Any], int]]:
        """The statements about derivatives that can be written here, with their weights."""
        choices: list[tuple[Callable[..., Any], int]] = []
        if self.depth < self.deepest and self.budget > 0:
            choices.append((self.derivative, 6))
        if self.backs:
            choices.append((self.call_back, 2))
        return choices

    def argument(self, given: str) -> str:
        """What a function is called with: arrays of its own, where it may write those of others."""
        fresh = dict.fromkeys("vmz", " * 1.0" if self.writes_outside else "")
        if given == "list":
            return f"[({self.expression('v')}){fresh['v']}, {self.expression('f')}]"
        if given == "dict":
            return f"{{'a': ({self.expression('v')}){fresh['v']}, 'b': {self.expression('f')}}}"
        return f"({self.expression(given)}){fresh.get(given, '')}"

    def read(self, given: str, text: str) -> None:
        """Names for a value of a kind."""
        if given == "list":
            self.assign("v", f"{text}[0]")
            self.assign("f", f"{text}[1]")
        elif given == "dict":
            self.assign("v", f"{text}['a']")
            self.assign("f", f"{text}['b']")
        else:
            self.assign(given, text, owned=self.chance(0.3))

    def derivative(self) -> None:
        self.budget -= 1
        self.depth += 1
        form = self.random.choice(self.forms)
        given = self.random.choice(["f", "v", "v", "m", "z", "list", "dict"])
        if form in ("grad", "value_and_grad", "gradients"):
            self.gradient(form, given)
        elif form == "hvp" or form.startswith("forward over"):
            self.product(form)
        elif form in FAMILY:
            self.family(form)
        else:
            self.linear(form, given)
        self.depth -= 1

    def gradient(self, form: str, given: str) -> None:
        h = self.new("h")
        self.define(h, given, "f", simple=self.chance(0.3))
        f = f"checkpoint({h})" if self.chance(0.15) else h
        t = self.new("g")
        if form == "grad":
            self.put(f"{t} = grad({f})({self.argument(given)})")
        elif form == "gradients":
            self.put(
                f"{t} = [grad({f})(a) for a in [{self.argument(given)}, {self.argument(given)}]][{self.random.randrange(2)}]"
            )
        else:
            y = self.new("f")
            self.put(f"{y}, {t} = value_and_grad({f})({self.argument(given)})")
            self.names["f"].append(y)
        self.read(given, t)

    def product(self, form: str) -> None:
        """The derivative of a gradient along a vector."""
        h = self.new("h")
        self.define(h, "v", "f", simple=self.chance(0.5))
        x, along = self.argument("v"), self.argument("v")
        if form == "hvp":
            self.assign("v", f"grad(lambda a: np.sum(grad({h})(a) * ({along})))({x})")
        else:
            self.assign("v", f"jvp(grad({h}), ({x},), ({along},))[1]")

    def family(self, form: str) -> None:
        """A Jacobian or Hessian, a product with one, the derivative of a function of a float, or a function of rows."""
        given = {"slope": "f", "jacobian": self.random.choice("fvv")}.get(form, "v")
        made = {"jacobian": self.random.choice("fv"), "batched": self.random.choice("fv")}.get(form, "f")
        h = self.new("h")
        self.define(h, given, made, simple=self.chance(0.3))
        x = self.argument("m" if form == "batched" else given)
        if form == "jacobian":
            text = f"{self.random.choice(['jacrev', 'jacfwd', 'jacobian'])}({h})({x})"
            kind = "m" if given == made == "v" else "f" if given == made else "v"
            self.assign(kind, f"{text}[:2]" if kind == "m" else text)
        elif form == "hessian":
            self.assign("m", f"hessian({h})({x})[1:]")
        elif form == "product":
            self.assign("v", f"{self.random.choice(['hvp', 'vhp'])}({h}, {x}, {self.argument('v')})")
        elif form == "slope":
            self.assign("f", f"derivative({h}, {self.random.randint(1, 2)})({x})")
        elif made == "v":
            self.assign("m", f"vmap({h})({x})")
        else:
            self.assign("f", f"np.sum(vmap({h})({x}) * ({self.expression('v')})[1:])")

    def linear(self, form: str, given: str) -> None:
        h, y, back = self.new("h"), self.new("y"), self.new("back")
        made = self.random.choice(["f", "v", "v", "z", "pair"])
        self.define(h, given, made, simple=self.chance(0.3))
        f, x = f"checkpoint({h})" if self.chance(0.1) else h, self.argument(given)
        forward = form in ("jvp", "linearize", "pushed later", "reverse over forward")
        if form == "jvp":
            t = self.new("t")
            self.put(f"{y}, {t} = jvp({f}, ({x},), ({self.argument(given)},))")
            self.result_of(made, y)
            self.result_of(made, t)
            return
        if form == "reverse over forward":
            self.assign(
                "v",
                f"grad(lambda a: dotted({made!r}, jvp({f}, ({x},), ({self.argument(given)},))[1]) * a[0] * a[1])({self.expression('v')})",
            )
            return
        self.put(f"{y}, {back} = {'linearize' if forward else 'vjp'}({f}, {x})")
        self.result_of(made, y)
        given, made = (made, given) if forward else (given, made)
        call = f"{back}({{}})" if forward else f"{back}({{}})[0]"
        if form in ("later", "pushed later", "kept"):
            for _ in range(self.random.randint(1, 2)):
                self.statement()
        if form == "kept":  # in another function, or inside another derivative
            g = self.new("h")
            self.put(f"def {g}(a):")
            self.put(f"    return dotted({given!r}, {call.format(self.cotangent(made, 'a'))}) * a[0]")
            self.assign("v", f"grad({g})({self.expression('v')})") if self.chance(0.7) else self.assign(
                "f", f"{g}({self.expression('v')})"
            )
            return
        self.backs.append(f"{back} {given} {made} {int(forward)}")
        self.call_back(self.backs[-1])
        if form == "twice":
            self.call_back(self.backs[-1])

    def cotangent(self, made: str, vector: str) -> str:
        return {
            "f": f"{vector}[1]",
            "v": vector,
            "m": f"np.stack([{vector}, {vector}])",
            "z": f"({vector} + 1j * {vector})",
            "pair": f"({vector}[1], {vector})",
            "list": f"[{vector}, {vector}[0]]",
            "dict": f"{{'a': {vector}, 'b': {vector}[2]}}",
        }[made]

    def result_of(self, made: str, name: str) -> None:
        if made == "pair":
            self.assign("f", f"{name}[0]")
            self.assign("v", f"{name}[1]")
        elif made in ("list", "dict"):
            self.read(made, name)
        else:
            self.assign(made, name)

    def call_back(self, which: str | None = None) -> None:
        back, given, made, forward = (which or self.random.choice(self.backs)).split()
        t = self.new("t")
        given_bar = f"({self.expression('f')}, {self.expression('v')})" if made == "pair" else self.argument(made)
        self.put(f"{t} = {back}({given_bar})" + ("" if forward == "1" else "[0]"))
        self.result_of(given, t)
