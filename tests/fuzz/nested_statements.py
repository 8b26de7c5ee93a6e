"""The statements and expressions of random programs, as source; `nested_programs` puts derivatives among them."""

# ruff: noqa: E501 (one line a list of forms)

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager

FLOATS = [
    "$f * $f", "$f + $f", "$f - 0.5 * $f", "np.sin($f)", "math.tanh($f)", "math.sin($f)", "np.tanh($f)", "np.sum($v)",
    "$v[$i]", "$v[-1] * $f", "np.sum($v * $v)", "$v @ $v", "$f / (2.0 + $f * $f)", "$m[$j, $i]", "np.sum($m * $m)",
    "$f ** 2", "$f ** 3", "$v.sum()", "np.sum(np.real($z * np.conj($z)))", "np.real($z[$i])", "np.imag($z[$i] * $f)",
    "0.7", "max($f, $f + 0.5)", "($f if $f > 0.4 else $f * $f)", "sum([$f, $f])", "np.dot($v, $v)", "twist($f, $f)",
    "[$f, $f][1]", "{'k': $f}['k']", "math.exp(-$f * $f)", "np.mean($m)", "np.prod($v)", "np.real(np.sum($z * $v))",
    "math.sqrt(1.0 + $f * $f)", "np.log(2.0 + np.sin($f))", "np.sum($m @ $v)", "total($v)", "cubed($f)",
]  # fmt: skip
VECTORS = [
    "$v + $v", "$v * $f", "np.sin($v)", "$v * $v", "$m[$j]", "np.array([$f, $f, $f])", "$v[::-1]", "np.cumsum($v) * 0.4",
    "np.where($v > 0.3, $v, 0.3 * $v)", "$m.sum(axis=0)", "np.concatenate([$v[1:], $v[:1]])", "$v.copy()", "$f - $v", "np.tanh($v)",
    "$v / (1.5 + $v * $v)", "np.real($z)", "np.imag($z) + $v", "np.roll($v, 1)", "$m.T[:, $j]", "$v[:2] @ $m", "bent($v)", "shifted($v, $f)",
    "np.real($z * $z)", "np.stack([$v, $v])[1]", "np.array([$f for _ in range(3)])", "np.sort(np.tanh($v) + np.array([4.0, 8.0, 0.0]))", "np.dot($m.T, $v[1:])",
]  # fmt: skip
MATRICES = [
    "np.outer($v[:2], $v)", "$m * $v", "np.stack([$v, $v])", "np.sin($m)", "$m.reshape(3, 2).T * 1.0", "$m + $f", "$m * $m",
    "np.outer($v, $v)[1:]", "np.array([$v, $v])", "$m[::-1]",
]  # fmt: skip
COMPLEX = [
    "$v + 1j * $v", "$z * $z", "$z * $f", "np.conj($z)", "np.exp(1j * $v)", "$z * $v", "np.sin($z) * 0.3", "$z[::-1] + $z", "1j * $z",
    "$z / (2.0 + $v)",
]  # fmt: skip
EXPRESSIONS = {"f": FLOATS, "v": VECTORS, "m": MATRICES, "z": COMPLEX}
INDICES = {"i": 3, "j": 2}
KINDS = "fffvvvvmz"
FRESH = {"v": " * 1.0", "m": " * 1.0", "z": " * 1.0", "f": ""}

PRELUDE = """
class Holder:
    def __init__(self, x):
        self.x = x

    @property
    def doubled(self):
        return self.x * 2.0

    def __call__(self, y):
        return self.x * y

def each(*xs):
    for x in xs:
        yield x * 1.5

def around(f):
    def inside(*args):
        return f(*args) * 1.25
    return inside
"""


class Statements:
    """One program in the making, but for its derivatives."""

    def __init__(self, seed: int, forms: tuple[str, ...], deepest: int = 3) -> None:
        self.random = random.Random(seed)
        self.forms, self.deepest = forms, deepest
        self.lines: list[str] = []
        self.indent, self.count, self.depth, self.budget = 0, 0, 0, 5
        self.names: dict[str, list[str]] = {"f": ["s"], "v": ["v"], "m": ["m"], "z": ["z"]}
        self.owned: dict[str, list[str]] = {"v": [], "m": [], "z": []}
        self.backs: list[str] = []
        self.outside: set[str] = set()
        self.writes_outside = False  # whether a function so far writes what is not its own

    def source(self) -> str:
        self.put("def main(s, v, m, z):")
        with self.block():
            for _ in range(self.random.randint(2, 6)):
                self.statement()
            while self.budget > 3:
                self.derivative()
            self.put(f"return {self.result()}")
        return PRELUDE + "\n".join(self.lines) + "\n"

    # Writing

    def put(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Indented lines; names that are made in them are known in them only."""
        names = {kind: list(known) for kind, known in self.names.items()}
        owned, backs = {kind: list(known) for kind, known in self.owned.items()}, list(self.backs)
        self.indent += 1
        yield
        self.indent -= 1
        self.names, self.owned, self.backs = names, owned, backs

    def new(self, kind: str = "t") -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # Expressions

    def expression(self, kind: str, deep: int = 2) -> str:
        if deep == 0 or self.chance(0.3):
            return self.name(kind)
        return re.sub(r"\$(\w)", lambda part: self.part(part[1], deep - 1), self.random.choice(EXPRESSIONS[kind]))

    def part(self, kind: str, deep: int) -> str:
        if kind in INDICES:
            return str(self.random.randrange(INDICES[kind]))
        return f"({self.expression(kind, deep)})"

    def name(self, kind: str) -> str:
        known = self.names[kind]
        return self.random.choice(known[-4:] if self.chance(0.7) else known)

    def result(self) -> str:
        return (
            " + ".join(f"math.tanh({self.expression('f', 3)})" for _ in range(self.random.randint(1, 3)))
            + f" + {self.name('f')} * {self.name('f')}"
        )

    def assign(self, kind: str, text: str, owned: bool = False) -> str:
        name = self.new(kind)
        self.put(f"{name} = {text}")
        self.names[kind].append(name)
        if owned and kind in self.owned:
            self.owned[kind].append(name)
        return name

    # Statements

    def statement(self) -> None:
        choices = [
            (self.simple, 5),
            (self.write, 4),
            (self.container, 3),
            (self.loop, 2),
            (self.branch, 1),
            (self.function, 1),
        ]
        choices += self.derivatives()
        makers, weights = zip(*choices, strict=True)
        self.random.choices(makers, weights)[0]()

    def simple(self) -> None:
        kind = self.random.choice(KINDS)
        self.assign(kind, self.expression(kind))

    def some_owned(self, kind: str) -> str:
        if self.owned[kind] and self.chance(0.8):
            return self.random.choice(self.owned[kind])
        if kind == "v" and self.chance(0.4):
            return self.assign(kind, "np.zeros(3)", owned=True)
        return self.assign(kind, f"({self.expression(kind)}){FRESH[kind]}", owned=True)

    def write(self) -> None:
        f = self.expression("f")
        kind = self.random.choice("vvvmz")
        a = self.some_owned(kind)
        whole = f"{a}[...]" if a in self.outside else a  # a name that is assigned to is the function's own
        self.writes_outside |= a in self.outside
        if kind == "v":
            v, i = self.expression("v"), self.random.randrange(3)
            self.put(self.random.choice([
                f"{a}[{i}] = {f}", f"{a}[1:] += ({v})[:2]", f"{whole} *= {f}", f"{a}[:] = {v}", f"{a}[{i}] *= {f}", f"{whole} += {v}",
                f"{a}[[0, 2]] = ({v})[1:]", f"np.multiply({v}, {v}, out={a})", f"{a}[::2] -= {f}", f"{a}[{i}] += {a}[0] * {f}",
                f"{a}[0], {a}[2] = {a}[2], {a}[0]", f"{a}[{a} > 0.4] *= 0.5", f"{a}[...] = np.sin({a})",
            ]))  # fmt: skip
        elif kind == "m":
            self.put(
                self.random.choice(
                    [
                        f"{a}[0] = {self.expression('v')}",
                        f"{a}[:, 1] *= {f}",
                        f"{a}[1] += {a}[0]",
                        f"{whole} *= {f}",
                        f"{a}[{self.random.randrange(2)}, 1] = {f}",
                    ]
                )
            )
            if self.chance(0.4):
                w = self.assign("v", f"{a}[{self.random.randrange(2)}]")
                self.put(self.random.choice([f"{w} *= {f}", f"{w}[1] = {f}", f"{w}[::-1][0] = {f}"]))
        else:
            self.put(
                self.random.choice(
                    [
                        f"{a}[0] = {f}",
                        f"{whole} *= {self.expression('z')}",
                        f"{a}[1:] += {f} * 1j",
                        f"{a}[2] = {a}[0] * {f}",
                    ]
                )
            )
        if kind == "v" and self.chance(0.4):
            view = self.new("w")
            self.put(f"{view} = {a}{self.random.choice(['[1:]', '[::2]', '[::-1]', '.reshape(3, 1)', '[:2]'])}")
            self.put(self.random.choice([f"{view}[0] = {f}", f"{view} *= {f}", f"{a}[1] = {f}"]))
            self.assign("f", f"np.sum({view} * {view})")

    def container(self) -> None:
        f, v = self.expression("f"), self.expression("v")
        c = self.new("c")
        form = self.random.randrange(8)
        if form == 0:
            self.put(f"{c} = {{'a': {v}, 'b': {f}}}")
            self.put(f"{c}['b'] *= {self.expression('f')}")
            self.assign("f", f"{c}['b'] * np.sum({c}['a'])")
        elif form == 1:
            self.put(f"{c} = [{f}]")
            self.put(f"for _ in range({self.random.randint(1, 3)}):")
            self.put(f"    {c}.append({c}[-1] * {self.name('f')})")
            self.assign("f", f"sum({c})")
        elif form == 2:
            self.put(f"{c} = Holder({v})")
            self.put(f"{c}.x = {c}.x * {f}")
            self.assign("v", f"{c}.doubled" if self.chance(0.5) else f"{c}({v})")
        elif form == 3:
            self.assign("f", f"sum(list(each({f}, {self.expression('f')})))")
        elif form == 4:
            a, b = self.new("f"), self.new("v")
            self.put(f"{a}, {b} = ({f}, {v})")
            self.names["f"].append(a)
            self.names["v"].append(b)
        elif form == 5:
            self.assign("f", f"functools.reduce(lambda p, q: p * 0.5 + q, [{f}, {self.expression('f')}, 0.5])")
        elif form == 6:
            self.assign("f", f"sum([a * b for a, b in zip({v}, {self.expression('v')})])")
        else:
            self.assign("f", f"around(lambda a: a * {self.name('f')})({f})")

    def loop(self) -> None:
        t = self.assign("f", self.expression("f"))
        k = self.new("k")
        self.put(f"for {k} in range({self.random.randint(1, 3)}):")
        with self.block():
            self.names["f"].append(f"(0.1 * {k})")
            for _ in range(self.random.randint(1, 2)):
                self.statement()
            self.put(f"{t} = math.tanh({t} * {self.expression('f', 1)} + 0.3)")

    def branch(self) -> None:
        t = self.assign("f", self.expression("f"))
        self.put(f"if {self.expression('f')} > 0.617:")
        with self.block():
            self.statement()
            self.put(f"{t} = {t} * {self.expression('f')}")
        self.put("else:")
        with self.block():
            self.put(f"{t} = {self.expression('f')}")

    def function(self) -> None:
        """A function, or a checkpointed one, called at once."""
        kind, h = self.random.choice("fv"), self.new("h")
        self.define(h, kind, kind, simple=self.chance(0.5))
        wrapped = f"checkpoint({h})" if self.chance(0.5) else h
        if kind == "f" and self.chance(0.3):
            self.assign(kind, f"checkpoint_loop(lambda a, i: math.tanh({h}(a)), {self.expression(kind)}, 3, 2)")
        else:
            self.assign(kind, f"{wrapped}({self.expression(kind)})")

    def define(self, name: str, given: str, made: str, simple: bool) -> None:
        """A function of one argument of a kind; what it reads besides is of the function around it."""
        p = self.new("p")
        self.put(f"def {name}({p}):")
        with self.block():
            outside, self.outside = self.outside, {name for known in self.owned.values() for name in known}
            self.take(p, given)
            for _ in range(0 if simple else self.random.randint(1, 3)):
                self.statement()
            if made == "f":
                self.put(f"return {self.result()}")
            elif made == "pair":
                self.put(f"return {self.expression('f')}, {self.expression('v')}")
            else:
                self.put(f"return {self.expression(made, 3)}")
            self.outside = outside

    def take(self, p: str, given: str) -> None:
        if given == "list":
            self.names["v"] += [f"{p}[0]", f"{p}[0]"]
            self.names["f"] += [f"{p}[1]", f"{p}[1]"]
        elif given == "dict":
            self.names["v"] += [f"{p}['a']"] * 2
            self.names["f"] += [f"{p}['b']"] * 2
        else:
            self.names[given] += [p, p]
            if given in self.owned and self.chance(0.3):
                own = self.assign(given, f"{p} * 1.0", owned=True)
                self.names[given].append(own)
