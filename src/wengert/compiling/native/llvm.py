"""Translate the source of native code to the intermediate representation of LLVM.

The source is a small part of Python: floats, integers, bools and flat memory; loops, branches and calls. Every name has
one type, that of its first value. So nothing needs inference, and one pass over the source is enough.
"""

from __future__ import annotations

import ast
import hashlib
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from llvmlite import ir

from wengert.compiling.native.lapack import EXPORTS
from wengert.compiling.native.python_calls import (
    C_INT,
    FLOAT,
    INT,
    call_native,
    call_routine,
    has_raised,
    leave_unoptimised,
    place_of_result,
)

BOOL = ir.IntType(1)
ROUTINES = (*EXPORTS,)
INTRINSICS = ("floor", "ceil", "trunc", "rint", "copysign", "sqrt", "exp", "log", "log10", "sin", "cos", "pow")
C_NAMES = {"hypot": "_hypot" if sys.platform == "win32" else "hypot"}
ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
SHORT = range(4, 9)  # iterations of a loop in a nest, which become one or two vectors
QUICK = {"u", "abs"}  # functions that are computed also where the result is not needed

MOST_VALUES = 8  # results that a function returns as values; LLVM would write all of them at each of its returns


class SourceModule:
    """The functions that a source defines: each is added to a module of LLVM at its first call.

    LLVM translates them as they are if they are long and run once (`is_straight`).
    """

    def __init__(self, module: Any, source: str, is_straight: bool) -> None:
        self.module, self.digest = module, hashlib.sha256(source.encode()).hexdigest()[:24]
        self.definitions: dict[str, Any] = {each.name: each for each in ast.parse(source).body}  # type: ignore[attr-defined]
        self.made: dict[Any, Any] = {}
        self.is_straight = is_straight

    def function(self, name: str, kinds: Sequence[Any]) -> Any:
        """Return a function of the source for parameters of these types."""
        key = name, *map(str, kinds)
        if key not in self.made:
            self.made[key] = _Function(self, self.definitions[name], kinds).function
        return self.made[key]

    def call(self, builder: Any, name: str, args: Sequence[Any]) -> Any:
        """Call a function of the source."""
        made = self.function(name, [x.type for x in args])
        return call_native(builder, made, [_converted(builder, x, to.type) for x, to in zip(args, made.args)])  # noqa: B905

    def c_function(self, name: str, kinds: Sequence[Any]) -> Any:
        """Return a C function of numbers, which has no side effects."""
        found = self.module.globals.get(name)
        if found is None:
            found = ir.Function(self.module, ir.FunctionType(FLOAT, kinds), name)
            for attribute in ("readonly", "nounwind"):
                found.attributes.add(attribute)
        return found

    def named_struct(self, name: str, elements: Sequence[Any]) -> Any:
        """Return a struct type with a name: the text of the module repeats the name, and not all elements."""
        made = self.module.context.get_identified_type(self.module.get_unique_name(name))
        made.set_body(*elements)
        return made

    def not_unrolled(self) -> Any:
        """Return metadata by which LLVM does not unroll a loop; each loop has its own, which refers to itself."""
        option = self.module.add_metadata([ir.MetaDataString(self.module, "llvm.loop.unroll.disable")])
        made = ir.MDValue(self.module, [option], str(len(self.module.metadata)))
        made.operands = made, option
        return made


class _Function(ast.NodeVisitor):
    """Translates a function. A name that is assigned once is a value, any other a variable in memory."""

    def __init__(self, module: SourceModule, definition: Any, kinds: Sequence[Any]) -> None:
        self.module = module
        self.flags = ("contract",) if definition.name.startswith("fast_") else ()
        result, results = _result_type(definition), None
        if isinstance(result, ir.LiteralStructType) and len(result.elements) > MOST_VALUES:
            first, *others = result.elements
            result, results = first, module.named_struct(f"results_of_{definition.name}", others)
            kinds = [*kinds, results.as_pointer()]
        typed = ir.FunctionType(result, kinds)
        name = module.module.get_unique_name(f"{definition.name}_{module.digest}")
        self.function = ir.Function(module.module, typed, name)
        self.function.results = results  # the type of the memory for them, if they are not values
        self.function.linkage = "linkonce_odr"  # not internal: what is called once would always be inlined
        self.function.attributes.add("nounwind")
        if self.flags:
            self.function.attributes.add("alwaysinline")
        elif definition.name.startswith("part"):
            self.function.attributes.add("noinline")
        elif module.is_straight:
            leave_unoptimised(self.function)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        assigned = (n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        self.counts = Counter(assigned)
        self.values: dict[Any, Any] = {"inf": ir.Constant(FLOAT, math.inf), "nan": ir.Constant(FLOAT, math.nan)}
        self.variables: dict[str, Any] = {}
        self.ends: list[Any] = []  # of the loops around
        self.exits: dict[str, Any] = {}  # blocks that return a value, by its name
        self.counters = [""]  # of the loops around, if they have one
        for parameter, x in zip(definition.args.args, self.function.args):  # noqa: B905  # memory for results is last
            is_own = definition.name.startswith(("native", "part")) and not parameter.arg.startswith(("c", "x"))
            if x.type.is_pointer and is_own:
                x.add_attribute("noalias")  # inputs, results and workspace; other functions may get one memory twice
            self.counts[parameter.arg] += 1
            self.assign(parameter.arg, x)
        self.statements(definition.body)
        if not self.builder.block.is_terminated:
            self.builder.ret_void() if isinstance(typed.return_type, ir.VoidType) else self.builder.unreachable()

    def generic_visit(self, node: ast.AST) -> Any:
        raise NotImplementedError(ast.unparse(node))

    # -- statements

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for each in body:
            if not self.builder.block.is_terminated:
                self.visit(each)

    def assign(self, name: str, x: Any) -> None:
        if self.counts[name] == 1 or isinstance(x, tuple):
            self.values[name] = x
            return
        if name not in self.variables:
            self.variables[name] = self.memory(x.type)
        self.builder.store(self.converted(x, self.variables[name].type.pointee), self.variables[name])

    def memory(self, kind: Any, size: int | None = None) -> Any:
        """Return memory that lasts until the function returns."""
        with self.builder.goto_entry_block():
            return self.builder.alloca(kind, size)

    def store(self, target: Any, x: Any) -> None:
        if isinstance(target, ast.Tuple):
            parts = x if isinstance(x, tuple) else [self.builder.extract_value(x, k) for k in range(len(target.elts))]
            for each, part in zip(target.elts, parts, strict=True):
                self.store(each, part)
        elif isinstance(target, ast.Subscript):
            self.builder.store(self.converted(x, FLOAT), self.place(target))
        else:
            self.assign(target.id, x)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.store(node.targets[0], self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            place = self.place(node.target)
            self.builder.store(self.operation(node.op, self.builder.load(place), self.visit(node.value)), place)
        else:
            self.store(node.target, self.operation(node.op, self.visit(node.target), self.visit(node.value)))

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def visit_Return(self, node: ast.Return) -> None:
        """Return from a function. All returns of one name share a block, which writes the results once."""
        if not isinstance(node.value, ast.Name):
            self.give_back(node)
            return
        known, here = self.exits.get(node.value.id), self.builder.block
        block = known or self.function.append_basic_block("exit")
        self.builder.branch(block)
        if known is None:
            self.exits[node.value.id] = block
            self.builder.position_at_end(block)
            self.give_back(node)
            self.builder.position_at_end(here)

    def give_back(self, node: ast.Return) -> None:
        """End a block with the return of a value."""
        found, kind = self.visit(node.value), self.function.function_type.return_type  # type: ignore[arg-type]
        if self.function.results is not None:
            found, *others = found
            for k, (part, t) in enumerate(zip(others, self.function.results.elements, strict=True)):
                self.builder.store(self.converted(part, t), place_of_result(self.builder, self.function.args[-1], k))
        if isinstance(found, tuple):
            parts = [self.converted(part, t) for part, t in zip(found, kind.elements, strict=True)]
            if all([isinstance(part, ir.Constant) for part in parts]):  # as after each guard
                self.builder.ret(ir.Constant(kind, parts))
                return
            found = ir.Constant(kind, ir.Undefined)
            for k, part in enumerate(parts):
                found = self.builder.insert_value(found, part, k)
        self.builder.ret(self.converted(found, kind))

    def visit_Break(self, node: ast.Break) -> None:
        self.builder.branch(self.ends[-1])

    def visit_If(self, node: ast.If) -> None:
        then, otherwise, end = map(self.function.append_basic_block, ("then", "else", "end"))
        self.builder.cbranch(self.truth(node.test), then, otherwise)
        for block, body in ((then, node.body), (otherwise, node.orelse)):
            self.builder.position_at_end(block)
            self.statements(body)
            if not self.builder.block.is_terminated:
                self.builder.branch(end)
        self.builder.position_at_end(end)

    def visit_While(self, node: ast.While) -> None:
        self.loop(lambda: self.truth(node.test), node.body, lambda: None)

    def visit_For(self, node: ast.For) -> None:
        name: str = node.target.id  # type: ignore[attr-defined]
        given = [self.visit(x) for x in node.iter.args]  # type: ignore[attr-defined]
        start, stop, step = [*[INT(0)][: len(given) == 1], *given, INT(1)][:3]
        counter = self.memory(INT)
        self.builder.store(start, counter)

        def test() -> Any:
            self.values[name] = self.builder.load(counter)
            return self.builder.icmp_signed("<" if step.constant > 0 else ">", self.values[name], stop)

        def advance() -> None:
            self.builder.store(self.builder.add(self.builder.load(counter), step, flags=("nsw",)), counter)

        is_vector = _in_nest(name) and _in_nest(self.counters[-1]) and getattr(stop, "constant", 0) in SHORT
        self.counters.append(name)
        self.loop(test, node.body, advance, may_unroll=not (is_vector or _contains_loop(node)))
        self.counters.pop()

    def loop(
        self, test: Callable[[], Any], body: list[ast.stmt], advance: Callable[[], None], may_unroll: bool = True
    ) -> None:
        """Translate a loop. LLVM would unroll a short one before it looks for vectors."""
        head, inside, end = map(self.function.append_basic_block, ("head", "body", "end"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.builder.cbranch(test(), inside, end)
        self.builder.position_at_end(inside)
        self.ends.append(end)
        self.statements(body)
        self.ends.pop()
        if not self.builder.block.is_terminated:
            advance()
            back = self.builder.branch(head)
            if not may_unroll:
                back.set_metadata("llvm.loop", self.module.not_unrolled())
        self.builder.position_at_end(end)

    # -- expressions

    def visit_Constant(self, node: ast.Constant) -> Any:
        return ir.Constant({bool: BOOL, int: INT, float: FLOAT}[type(node.value)], node.value)

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return tuple([self.visit(x) for x in node.elts])

    def visit_Name(self, node: ast.Name) -> Any:
        return self.builder.load(self.variables[node.id]) if node.id in self.variables else self.values[node.id]

    def place(self, node: ast.Subscript) -> Any:
        """Return the address of an element.

        A constant offset is added to the memory first: for a[i] and a[i + 1], LLVM would carry an element from one
        iteration to the next, which makes the loop slower.
        """
        memory, index = self.visit(node.value), node.slice
        lasts = memory.parent in (self.function, self.function.entry_basic_block)
        is_sum = isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add)
        if lasts and is_sum and isinstance(index.right, ast.Constant):  # type: ignore[attr-defined]
            key: Any = node.value.id, index.right.value  # type: ignore[attr-defined]
            if key not in self.values:
                with self.builder.goto_entry_block():
                    self.values[key] = self.builder.gep(memory, [INT(key[1])], inbounds=True)
            memory, index = self.values[key], index.left  # type: ignore[attr-defined]
        return self.builder.gep(memory, [self.visit(index)], inbounds=True)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.slice, ast.Slice):
            return self.builder.gep(self.visit(node.value), [self.visit(node.slice.lower)], inbounds=True)  # type: ignore[arg-type]
        return self.builder.load(self.place(node))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.builder.not_(self.truth(node.operand))
        assert isinstance(node.op, ast.USub)
        if isinstance(node.operand, ast.Constant):
            return self.visit_Constant(ast.Constant(-node.operand.value))  # type: ignore[operator]
        x = self.visit(node.operand)
        return self.builder.fneg(x) if x.type == FLOAT else self.builder.neg(x)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self.operation(node.op, self.visit(node.left), self.visit(node.right))

    def operation(self, sign: ast.operator, a: Any, b: Any) -> Any:
        a, b = self.alike(a, b)
        if isinstance(sign, ast.BitOr):
            return self.builder.or_(a, b)
        if isinstance(sign, (ast.FloorDiv, ast.Mod)):
            return self.divided(a, b)[isinstance(sign, ast.Mod)]
        name = ARITHMETIC[type(sign)]
        if a.type == FLOAT:
            return getattr(self.builder, f"f{name}")(a, b, flags=self.flags)
        return getattr(self.builder, name)(a, b, flags=("nsw",))

    def divided(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return the quotient of integers, rounded down, and the remainder."""
        build = self.builder
        whole, rest = build.sdiv(a, b), build.srem(a, b)
        is_above = build.and_(build.icmp_signed("!=", rest, INT(0)), build.icmp_signed("<", build.xor(rest, b), INT(0)))
        return build.sub(whole, build.zext(is_above, INT)), build.add(rest, build.select(is_above, b, INT(0)))

    def visit_Compare(self, node: ast.Compare) -> Any:
        left, found = self.visit(node.left), None
        for sign, right in zip(node.ops, map(self.visit, node.comparators), strict=True):
            one = self.compared(SIGNS[type(sign)], left, right)
            found, left = one if found is None else self.builder.and_(found, one), right
        return found

    def compared(self, sign: str, a: Any, b: Any) -> Any:
        a, b = self.alike(a, b)
        if a.type == FLOAT:
            return (self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered)(sign, a, b)
        return self.builder.icmp_signed(sign, a, b)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        first, *rest = node.values
        if all(map(_is_quick, rest)):
            found = self.truth(first)
            for x in rest:
                found = (self.builder.and_ if is_and else self.builder.or_)(found, self.truth(x))
            return found
        more: ast.expr = ast.BoolOp(node.op, rest) if rest[1:] else rest[0]
        known = ast.Constant(not is_and)
        return self.visit_IfExp(ast.IfExp(first, more, known) if is_and else ast.IfExp(first, known, more))

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = self.truth(node.test)
        if _is_quick(node.body) and _is_quick(node.orelse):
            return self.builder.select(test, *self.alike(self.visit(node.body), self.visit(node.orelse)))
        then, otherwise, end = map(self.function.append_basic_block, ("then", "else", "end"))
        self.builder.cbranch(test, then, otherwise)
        found = []
        for block, part in ((then, node.body), (otherwise, node.orelse)):
            self.builder.position_at_end(block)
            found.append((self.visit(part), self.builder.block))
        kind = self.common_type([x for x, _ in found])
        arms = []
        for x, block in found:
            self.builder.position_at_end(block)
            arms.append((self.converted(x, kind), block))
            self.builder.branch(end)
        self.builder.position_at_end(end)
        made = self.builder.phi(kind)
        for x, block in arms:
            made.add_incoming(x, block)
        return made

    # -- calls

    def visit_Call(self, node: ast.Call) -> Any:
        name: str = getattr(node.func, "attr", None) or node.func.id  # type: ignore[attr-defined]
        if name == "empty":
            return self.memory(FLOAT, ast.literal_eval(node.args[0]))
        args = [self.visit(x) for x in node.args]
        if name in self.module.definitions:
            return self.module.call(self.builder, name, args)
        builtin = getattr(self, f"call_{name}", None)
        if builtin is not None:
            return builtin(*args)
        if name.startswith(ROUTINES):
            return call_routine(self.module.module, self.builder, name, args)
        if name in INTRINSICS:
            return self.call_intrinsic(f"llvm.{name}", args)
        args = [self.builder.trunc(x, C_INT) if x.type == INT else x for x in args]
        return self.builder.call(self.module.c_function(C_NAMES.get(name, name), [x.type for x in args]), args)

    def call_intrinsic(self, name: str, args: Sequence[Any]) -> Any:
        typed = ir.FunctionType(FLOAT, [FLOAT] * len(args))
        floats = [self.converted(x, FLOAT) for x in args]
        return self.builder.call(self.module.module.declare_intrinsic(name, [FLOAT], typed), floats)

    def call_abs(self, x: Any) -> Any:
        return self.call_intrinsic("llvm.fabs", [x])

    def call_float(self, x: Any) -> Any:
        return self.converted(x, FLOAT)

    def call_int(self, x: Any) -> Any:
        return self.builder.fptosi(x, INT) if x.type == FLOAT else self.converted(x, INT)

    call_u = call_int

    def call_max(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.compared(">", b, a), b, a)

    def call_min(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.compared("<", b, a), b, a)

    def call_python(self, function: Any) -> Any:
        """Call a function of Python; return whether it raised an exception."""
        return has_raised(self.module.module, self.builder, function)

    def call_fmod(self, a: Any, b: Any) -> Any:
        return self.builder.frem(a, b)

    def call_radd(self, a: Any, b: Any) -> Any:
        """Add; the compiler may reassociate."""
        return self.builder.fadd(a, b, flags=("reassoc",))

    def call_scaled(self, x: Any, bits: Any) -> Any:
        """Return x times two to the power in the lowest bits of another number."""
        x, bits = (self.builder.bitcast(each, INT) for each in (x, bits))
        return self.builder.bitcast(self.builder.add(x, self.builder.shl(bits, INT(52))), FLOAT)

    def call_parted(self, x: Any) -> Any:
        """Split a normal positive x into a number from about sqrt(1/2) to sqrt(2), times a power of two."""
        build = self.builder
        bits = build.bitcast(x, INT)
        power = build.ashr(build.sub(bits, INT(0x3FE6A09E00000000)), INT(52))
        part = build.bitcast(build.sub(bits, build.shl(power, INT(52))), FLOAT)
        return part, build.bitcast(build.add(power, INT(0x4338000000000000)), FLOAT)

    # -- types

    def truth(self, node: ast.expr) -> Any:
        """Translate a condition."""
        x = self.visit(node)
        return x if x.type == BOOL else self.compared("!=", x, ir.Constant(x.type, 0))

    def common_type(self, values: Sequence[Any]) -> Any:
        kinds = [x.type for x in values]
        return next(kind for kind in (FLOAT, INT, BOOL) if kind in kinds)

    def alike(self, *values: Any) -> list[Any]:
        """Return values, converted to the type of all."""
        kind = self.common_type(values)
        return [self.converted(x, kind) for x in values]

    def converted(self, x: Any, kind: Any) -> Any:
        return _converted(self.builder, x, kind)


def _converted(builder: Any, x: Any, kind: Any) -> Any:
    """Convert a number to a type that has all values of its own type."""
    if x.type == kind:
        return x
    if kind == FLOAT:
        return (builder.uitofp if x.type == BOOL else builder.sitofp)(x, FLOAT)
    return builder.zext(x, kind)


def _is_quick(node: ast.expr) -> bool:
    """Whether an expression may be computed also where its value is not needed."""
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    divides = any([isinstance(n, (ast.FloorDiv, ast.Mod)) for n in ast.walk(node)])
    return not divides and all([isinstance(f, ast.Name) and f.id in QUICK for f in calls])


def _in_nest(counter: str) -> bool:
    """Whether this counter is that of a loop over an axis of arrays."""
    return counter[:1] == "i" and counter[1:].isdigit()


def _contains_loop(node: ast.For) -> bool:
    return any([isinstance(n, (ast.For, ast.While)) for each in node.body for n in ast.walk(each)])


def _result_type(definition: ast.FunctionDef) -> Any:
    """Return the type of what a function returns: integers and bools are constants or comparisons in its source."""
    found = [n.value for n in ast.walk(definition) if isinstance(n, ast.Return)]
    if not found:
        return ir.VoidType()
    one: Any = next(x for x in found if not (isinstance(x, ast.Name) and x.id == "FAILED"))
    return ir.LiteralStructType(map(_type_of, one.elts)) if isinstance(one, ast.Tuple) else _type_of(one)


def _type_of(node: ast.expr) -> Any:
    if isinstance(node, ast.Compare):
        return BOOL
    return {bool: BOOL, int: INT}.get(type(getattr(node, "value", None)), FLOAT)
