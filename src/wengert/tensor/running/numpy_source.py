"""Source of a plan as NumPy code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from wengert.tensor.language.indices import AffineExpr
from wengert.tensor.language.predicates import Compare, Related, Unrelated
from wengert.tensor.language.terms import Add, Apply, BlackBox, Const, Mul
from wengert.tensor.planning.loops import LoopStep, Solve, Span, Test
from wengert.tensor.planning.nests import (
    CellIndex,
    EntryIndex,
    LoopNest,
    NestPiece,
    PieceBody,
    Read,
    Size,
    body_reads,
    product_factors,
)
from wengert.tensor.planning.pieces import is_reduction
from wengert.tensor.planning.plan import Plan
from wengert.tensor.planning.regions import Conjunction
from wengert.tensor.running.joining import fills_all_cells, overlapping_pieces_joined, writes_cells_once
from wengert.tensor.running.layout import Box, Listed, is_window, layout
from wengert.tensor.running.spelling import (
    END,
    LOW,
    RESERVED_NAMES,
    aligned,
    end_source,
    in_parentheses,
    index_source,
    lowest_source,
    number_source,
    spelled,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"


# the index ranges and atoms to enumerate, and the names of the entry positions to look up
PointSpec = tuple[dict[str, int], Conjunction, dict[EntryIndex, str]]


class NumpySource:
    """Writes `run(inputs, relations, points)`; collects the functions that it calls and the points that it needs."""

    cells_to_join = 50_000  # cells of a tensor from which overlapping pieces are joined, to save passes over memory

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.functions: dict[str, Callable[..., Any]] = {}
        self.point_specs: dict[str, PointSpec] = {}
        self.entries: dict[EntryIndex, str] = {}
        self.taken = set(RESERVED_NAMES)
        self.names: dict[str, str] = {}
        self.black_boxes: dict[BlackBox, str] = {}
        self.lines: list[str] = []
        self.shapes = {**plan.inputs, **{nest.name: nest.shape for nest in plan.nests}}

    def text(self) -> str:
        inputs = sorted({r for nest in self.plan.nests for r in _inputs_of(nest)})
        for name in inputs:
            self.line(1, f"{self.name(name)} = inputs[{name!r}]")
        begin = len(self.lines)
        for nest in self.plan.nests:
            self.nest(overlapping_pieces_joined(nest, self.cells_to_join))
        self.line(1, f"return {self.output()}")
        if any(line.endswith(", dtype)") for line in self.lines):
            self.lines.insert(begin, "    dtype = np.result_type(np.float32, *inputs.values())")
        return "def run(inputs, relations, points):\n" + "\n".join(self.lines) + "\n"

    def output(self) -> str:
        return _tuple_source(self.plan.output, self.name)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def name(self, name: str) -> str:
        if name not in self.names:
            self.names[name] = spelled(name, self.taken)
        return self.names[name]

    # ---- nests and pieces ----

    def nest(self, nest: LoopNest) -> None:
        layouts = [layout(p, self.plan) for p in nest.pieces]
        boxes = [chosen for chosen in layouts if isinstance(chosen, Box)]
        for box in boxes:
            self.read_masks(box)
        if len(layouts) == 1 and self.whole(nest, layouts[0]):
            return
        apart = writes_cells_once(nest)
        is_filled = len(boxes) == len(layouts) and apart and fills_all_cells(nest)  # listed points use +=
        fill = "empty" if is_filled else "zeros"
        self.line(1, f"{self.name(nest.name)} = np.{fill}({self.shape_source(nest)}, dtype)")
        alone = apart and not any(box.masks for box in boxes)  # a mask also writes zeros
        for k, (piece, chosen) in enumerate(zip(nest.pieces, layouts, strict=True)):
            if isinstance(chosen, Box):
                self.box(nest, piece, chosen, assigns=alone or (k == 0 and not chosen.loops))
            else:
                self.points(nest, piece, k)

    def shape_source(self, nest: LoopNest) -> str:
        parts = [str(n) if isinstance(n, int) else f"relations[{n!r}].count" for n in nest.shape]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def whole(self, nest: LoopNest, box: Box | Listed) -> bool:
        """Write a nest as one expression if its only piece fills all cells without loops; return whether it does."""
        piece = nest.pieces[0]
        if not isinstance(box, Box) or box.loops or set(piece.where) - set(box.masks):
            return False
        own = [a.terms[0][0] if isinstance(a, AffineExpr) and len(a.terms) == 1 else None for a in piece.target]
        plain = all(a == AffineExpr(0, ((i, 1),)) for a, i in zip(piece.target, own, strict=True) if i)
        if (
            not plain
            or None in own
            or len(set(own)) < len(own)
            or tuple(piece.ranges[i] for i in own if i) != nest.shape
        ):
            return False
        text, axes = self.value(piece.body, [i for i in own if i], box)
        if set(axes) != set(own):
            return False
        self.line(1, f"{self.name(nest.name)} = {aligned(text, axes, [i for i in own if i])}")
        return True

    def box(self, nest: LoopNest, piece: NestPiece, box: Box, assigns: bool) -> None:
        depth = self.loops(box.loops, 1)
        for axis in box.axes:
            if box.loops and not (self.start(axis).lstrip("-").isdigit() and self.end(axis).isdigit()):
                low, end = axis.index + LOW, axis.index + END
                self.line(depth, f"{low}, {end} = {lowest_source(axis.lows)}, {end_source(axis.highs)}")
                self.line(depth, f"if {low} < {end}:")
                depth += 1
        kept = [i for a in piece.target for i in a.names if i in {s.index for s in box.axes}]
        kept = list(dict.fromkeys(kept))
        text, axes = self.value(piece.body, kept, box)
        text = aligned(text, axes, kept)
        place = self.place(nest, piece, kept, box)
        self.line(depth, f"{place} {'=' if assigns else '+='} {text}")

    def loops(self, loops: tuple[LoopStep, ...], depth: int) -> int:
        for step in loops:
            match step:
                case Span(index, lows, highs):
                    low, end = lowest_source(lows), end_source(highs)
                    self.line(depth, f"for {index} in range({end if low == '0' else f'{low}, {end}'}):")
                    depth += 1
                case Solve(index, of, by, size):
                    self.line(depth, f"{index}, rest = divmod({index_source(of)}, {by})")
                    self.line(depth, f"if not rest and 0 <= {index} < {size}:")
                    depth += 1
                case Test(Compare(op, side)):
                    self.line(depth, f"if {index_source(side)} {'==' if op == '=' else '>='} 0:")
                    depth += 1
        return depth

    # ---- axes ----

    def bounds(self, index: str, box: Box) -> tuple[str, str]:
        axis = next(s for s in box.axes if s.index == index)
        low, end = lowest_source(axis.lows), end_source(axis.highs)
        dynamic = box.loops and not (low.lstrip("-").isdigit() and end.lstrip("-").isdigit())
        return (index + LOW, index + END) if dynamic else (low, end)

    def start(self, axis: Span) -> str:
        return lowest_source(axis.lows)

    def end(self, axis: Span) -> str:
        return end_source(axis.highs)

    def place(self, nest: LoopNest, piece: NestPiece, kept: list[str], box: Box) -> str:
        name = self.name(nest.name)
        text, axes = self.view(nest.name, piece.target, box)
        if axes != kept:
            raise AssertionError("the axes of a target must come in its own order")
        return text if text.startswith(f"{name}[") else f"{text}[...]"

    def view(self, tensor: str, at: tuple[CellIndex, ...], box: Box) -> tuple[str, list[str]]:
        """The source of a view of a tensor over the axes that the access names, and those axes."""
        name = self.name(tensor)
        axes = {s.index for s in box.axes}
        used = list(dict.fromkeys(i for a in at for i, _ in a.terms if i in axes))  # type: ignore[union-attr]
        sides = [a for a in at if isinstance(a, AffineExpr)]
        free = [[i for i in a.names if i in axes] for a in sides]
        simple = len([i for f in free for i in f]) == len(used) and not is_window(at, axes)
        if simple and all(a.coefficient(f[0]) > 0 for a, f in zip(sides, free, strict=True) if f):
            shape = self.shapes[tensor]
            texts = [self.slice(a, f, n, box) for a, f, n in zip(sides, free, shape, strict=True)]
            return (f"{name}[{', '.join(texts)}]" if set(texts) - {":"} else name), used
        return self.window(name, sides, used, box), used

    def slice(self, a: AffineExpr, free: list[str], size: Size, box: Box) -> str:
        if not free:
            return index_source(a)
        low, end = self.bounds(free[0], box)
        c = a.coefficient(free[0])
        start, stop = self.at(a, free[0], low, 0), self.at(a, free[0], end, -c + 1)
        if c == 1 and (start, stop) == ("0", str(size)):
            return ":"
        return f"{start}:{stop}" + (f":{c}" if c > 1 else "")

    def at(self, a: AffineExpr, index: str, value: str, more: int) -> str:
        if value.lstrip("-").isdigit():
            return index_source(a.substitute({index: int(value)}) + more)
        return (
            index_source(a.substitute({index: AffineExpr(0, ((value, 1),))}) + more)
            if value.isidentifier()
            else (index_source(a.substitute({index: AffineExpr(0, ((f"({value})", 1),))}) + more))
        )

    def window(self, name: str, sides: list[AffineExpr], used: list[str], box: Box) -> str:
        lows = {i: self.bounds(i, box)[0] for i in used}
        starts = []
        for a in sides:
            for i in used:
                a = a.substitute(
                    {i: int(lows[i]) if lows[i].lstrip("-").isdigit() else AffineExpr(0, ((f"({lows[i]})", 1),))}
                )
            starts.append(index_source(a))
        steps = [tuple(a.coefficient(i) for a in sides) for i in used]
        shape = [f"{self.bounds(i, box)[1]} - ({lows[i]})" if lows[i] != "0" else self.bounds(i, box)[1] for i in used]
        return f"window({name}, [{', '.join(starts)}], {steps}, [{', '.join(shape)}])"

    # ---- values ----

    def value(self, body: PieceBody, kept: list[str], box: Box) -> tuple[str, list[str]]:
        """The source of a body summed over the axes not in `kept`, and the axes of its value."""
        parts = [self.plain(f, box) for f in product_factors(body)]
        parts = [self.masked(parts, box)] if box.masks else parts
        everything = {s.index for s in box.axes}
        seen = {i for _, axes in parts for i in axes}
        absent = [
            f"({self.bounds(i, box)[1]} - ({self.bounds(i, box)[0]}))" for i in everything - seen if i not in kept
        ]
        result = [i for i in kept if i in seen]
        if seen <= set(kept):
            text, axes = self.multiplied(parts, result)
        else:
            text, axes = self.summed(parts, result), result
        return (f"{' * '.join(absent)} * {in_parentheses(text)}" if absent else text), axes

    def masked(self, parts: list[tuple[str, list[str]]], box: Box) -> tuple[str, list[str]]:
        """The source of a product where all masks hold and zero elsewhere, even if a factor is infinite."""
        masks = [self.mask(m, box) for m in box.masks]
        axes = list(dict.fromkeys(i for _, own in (*masks, *parts) for i in own))
        condition = " & ".join(aligned(text, own, axes) for text, own in masks)
        value = " * ".join(
            in_parentheses(aligned(text, own, axes)) if parts[1:] else aligned(text, own, axes) for text, own in parts
        )
        return f"np.where({condition}, {value}, 0.0)", axes

    def mask(self, mask: Related | Unrelated, box: Box) -> tuple[str, list[str]]:
        text, axes = self.view(_mask_name(mask), mask.at, box)
        return ("~" if isinstance(mask, Unrelated) else "") + text, axes

    def read_masks(self, box: Box) -> None:
        """Read the boolean arrays of masks before the loops."""
        for mask in box.masks:
            name = _mask_name(mask)
            if name not in self.shapes:
                self.shapes[name] = self.plan.relations[mask.relation]
                self.line(1, f"{self.name(name)} = relations[{mask.relation!r}].mask")

    def multiplied(self, parts: list[tuple[str, list[str]]], result: list[str]) -> tuple[str, list[str]]:
        if len(parts) == 1:
            return parts[0]
        return " * ".join(
            in_parentheses(aligned(text, axes, result)) if axes else in_parentheses(text) for text, axes in parts
        ), result

    def summed(self, parts: list[tuple[str, list[str]]], result: list[str]) -> str:
        scalars = [in_parentheses(text) for text, axes in parts if not axes]
        arrays = [(text, axes) for text, axes in parts if axes]
        letters = {i: LETTERS[k] for k, i in enumerate(dict.fromkeys(i for _, axes in arrays for i in axes))}
        if len(arrays) == 1:
            text, axes = arrays[0]
            over = tuple(k for k, i in enumerate(axes) if i not in result)
            left = [i for i in axes if i in result]
            text = f"{in_parentheses(text)}.sum({over[0] if len(over) == 1 else over})"
            text = aligned(text, left, result)
        else:
            text = self.contraction(arrays, result, letters)
        return " * ".join([*scalars, text])

    def contraction(self, arrays: list[tuple[str, list[str]]], result: list[str], letters: Mapping[str, str]) -> str:
        text = _matrix_product(arrays[0], arrays[1], result) if len(arrays) == 2 else None
        if text is not None:
            return text
        operands = [f"({''.join(letters[i] for i in axes)!r}, {text})" for text, axes in arrays]
        return f"contract_axes({''.join(letters[i] for i in result)!r}, {', '.join(operands)})"

    def plain(self, body: PieceBody, box: Box) -> tuple[str, list[str]]:
        """The source of an elementwise value, and the axes that it depends on."""
        match body:
            case Read(name, at):
                return self.view(name, at, box)
            case Const(value):
                return number_source(value), []
            case Add(x, y) | Mul(x, y):
                return self.joined(" + " if isinstance(body, Add) else " * ", [self.plain(x, box), self.plain(y, box)])
            case Apply(f, args):
                return self.joined(self.function(f), [self.argument(a, box) for a in args], call=True)
        raise TypeError(f"not a body: {body}")

    def argument(self, body: PieceBody, box: Box) -> tuple[str, list[str]]:
        """The source of an argument; a constant is a NumPy float, so that Python code in a black box does not raise."""
        return (f"np.float64({number_source(body.value)})", []) if isinstance(body, Const) else self.plain(body, box)

    def joined(self, op: str, parts: list[tuple[str, list[str]]], call: bool = False) -> tuple[str, list[str]]:
        axes = list(dict.fromkeys(i for _, own in parts for i in own))
        texts = [aligned(text, own, axes) if own else text for text, own in parts]
        return (f"{op}({', '.join(texts)})" if call else op.join(map(in_parentheses, texts))), axes

    def function(self, f: BlackBox) -> str:
        if f not in self.black_boxes:
            known = isinstance(f.fn, np.ufunc) and getattr(np, f.fn.__name__, None) is f.fn
            self.black_boxes[f] = f"np.{f.fn.__name__}" if known else spelled(f.name, self.taken)
            if not known:
                self.functions[self.black_boxes[f]] = f.fn
        return self.black_boxes[f]

    # ---- listed points ----

    def points(self, nest: LoopNest, piece: NestPiece, k: int) -> None:
        key = f"{nest.name}.{k}"
        self.entries = {}
        name = self.name(nest.name)
        self.line(1, f"at = points[{key!r}]")
        target = f"({', '.join(map(self.gathered, piece.target))}{',' if len(piece.target) == 1 else ''})"
        if is_reduction(piece) or not any(a.names for a in piece.target):
            values = f"np.broadcast_to({self.at_points(piece.body)}, at['count'])"
            self.line(1, f"{name} += summed_at({name}.shape, {target}, {values}, dtype)")
        else:
            self.line(1, f"{name}[{target[1:-1].removesuffix(',')}] += {self.at_points(piece.body)}")
        self.point_specs[key] = piece.ranges, piece.where, self.entries

    def at_points(self, body: PieceBody) -> str:
        match body:
            case Read(name, at):
                return f"{self.name(name)}[{', '.join(map(self.gathered, at))}]" if at else self.name(name)
            case Const(value):
                return number_source(value)
            case Add(x, y):
                return f"({self.at_points(x)} + {self.at_points(y)})"
            case Mul(x, y):
                return f"{self.at_points(x)} * {self.at_points(y)}"
            case Apply(f, args):
                return f"{self.function(f)}({', '.join(map(self.argument_at_points, args))})"
        raise TypeError(f"not a body: {body}")

    def argument_at_points(self, body: PieceBody) -> str:
        """The source of an argument; a constant is repeated for each point, so that no points mean no call of f."""
        if isinstance(body, Const):
            return f"np.full(at['count'], {number_source(body.value)})"
        return self.at_points(body)

    def gathered(self, a: CellIndex) -> str:
        if isinstance(a, EntryIndex):
            return f"at[{self.entries.setdefault(a, f'entry{len(self.entries)}')!r}]"
        return index_source(AffineExpr(a.constant, tuple((f"at[{i!r}]", c) for i, c in a.terms)))


def _mask_name(mask: Related | Unrelated) -> str:
    return f"mask of {mask.relation}"


def _matrix_product(a: tuple[str, list[str]], b: tuple[str, list[str]], result: list[str]) -> str | None:
    """The source `x @ y` if two matrices or vectors share one summed axis; else None."""
    (x, left), (y, right) = a, b
    shared = [i for i in left if i in right]
    if len(shared) != 1 or shared[0] in result or len(left) > 2 or len(right) > 2 or "window(" in x + y:
        return None
    (k,) = shared
    out = [i for i in left if i != k] + [i for i in right if i != k]
    if out != result:
        return _matrix_product(b, a, result) if out == result[::-1] and len(out) == 2 else None
    x = in_parentheses(x) + (".T" if len(left) == 2 and left[0] == k else "")
    y = in_parentheses(y) + (".T" if len(right) == 2 and right[1] == k else "")
    return f"{x} @ {y}"


def _inputs_of(nest: LoopNest) -> Iterator[str]:
    return (r.name for p in nest.pieces for r in body_reads(p.body) if r.name.startswith("in."))


def _tuple_source(output: Any, name: Callable[[str], str]) -> str:
    if isinstance(output, tuple):
        parts = [_tuple_source(o, name) for o in output]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return name(output)
