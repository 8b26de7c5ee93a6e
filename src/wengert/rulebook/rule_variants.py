"""Variants of a rule: its body without the dead code for unwanted arguments, and what each variant reads.

Variants are made from the body's syntax tree. The whole body is called, and unwanted results are dropped, if there is
no source (a rule typed at a prompt), if the source does not show its results one by one, or if they have side effects.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from wengert.errors import RuleError
from wengert.rulebook import keeping
from wengert.rulebook.kept_rules import KeptRule, kept_rule
from wengert.rulebook.purity import ACTS, Effects
from wengert.rulebook.runtime import apart, retrying, times, whole, whole_sum
from wengert.rulebook.syntax import (
    DERIVING,
    code_from,
    copied_tree,
    definition,
    is_exact,
    parts_of,
    prune,
    reads,
    returns,
    unit,
    unused,
    walk_tree,
    with_closure,
)
from wengert.values.codes import code_of
from wengert.values.cotangents import InplaceableThunk
from wengert.values.lazy_attribute import computed_once, derived_together
from wengert.values.named_tuples import NamedTuple
from wengert.values.specs import spec_of

T = TypeVar("T")


class Variant(NamedTuple):
    """The pullback of a rule for one set of wanted arguments: `call(y_bar, y, *args) -> (a_bar, None, ...)`.

    `reads` says for each positional argument whether the call reads its "value", its "shape" or "nothing"; `reads_y`
    says it for the result. An entry keeps only these residuals.
    """

    call: Callable[..., tuple[Any, ...]]
    reads: tuple[str, ...]  # one per differentiable position: "value", "shape" or "nothing"
    reads_y: str
    source: str | None

    def residuals(self, y: Any, args: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
        """Return the residuals of `y` and of the arguments that `call` will need: values, Specs or None."""
        return _keep(y, self.reads_y), tuple(map(_keep, args, self.reads))


class _Parameter(NamedTuple):
    """A parameter of a function, with the attributes of `inspect.Parameter`."""

    name: str
    kind: int
    default: Any = inspect.Parameter.empty


def _parameters(function: types.FunctionType) -> Sequence[Any]:
    """Return a function's parameters. Its code lists them in a fifth of the time that `inspect.signature` takes."""
    if hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
        return list(inspect.signature(function).parameters.values())
    code, defaults = code_of(function), function.__defaults__ or ()
    required = [inspect.Parameter.empty] * (code.co_argcount - len(defaults))
    kinds: list[int] = [inspect.Parameter.KEYWORD_ONLY] * code.co_kwonlyargcount
    kinds += [inspect.Parameter.VAR_POSITIONAL] * bool(code.co_flags & inspect.CO_VARARGS)
    kinds += [inspect.Parameter.VAR_KEYWORD] * bool(code.co_flags & inspect.CO_VARKEYWORDS)
    names = iter(code.co_varnames)
    found = [_Parameter(next(names), _BY_POSITION, default) for default in (*required, *defaults)]
    return found + [_Parameter(next(names), kind) for kind in kinds]


_BY_POSITION = inspect.Parameter.POSITIONAL_OR_KEYWORD


_LEADING: dict[str, tuple[str, ...]] = {"partials": ("y",), "pullback": ("y_bar", "y"), "rrule": ()}


def _takes_at_least(function: types.FunctionType, leading: tuple[str, ...]) -> bool:
    is_plain = not (hasattr(function, "__wrapped__") or hasattr(function, "__signature__"))
    if is_plain and code_of(function).co_argcount >= len(leading):
        return True
    return len([p for p in _parameters(function) if p.kind <= _BY_POSITION]) >= len(leading)


class RuleBody:
    """The decorated function of a rule: its parameters, and the variants made from its source."""

    y = derived_together[str]()
    y_bar = derived_together[str]()
    names = derived_together[tuple[str, ...]]()
    defaults = derived_together[dict[str, Any]]()
    variadic = derived_together[str | None]()
    asks = derived_together[bool]()
    static = derived_together[tuple[str, ...]]()
    kwdefaults = derived_together[dict[str, Any]]()
    open = derived_together[bool]()

    def __init__(self, function: Callable[..., Any], kind: str) -> None:
        if not isinstance(function, types.FunctionType):
            raise RuleError(f"a rule must be a Python function, not {type(function).__name__}")
        self.function, self.name = function, function.__name__
        self.kind, self.multiplies = kind, kind == "partials"
        if not _takes_at_least(function, _LEADING[kind]):
            raise RuleError(
                f"a {kind} rule must take {', '.join(_LEADING[kind])} and then the arguments of its primitive; "
                f"got {self.name}{inspect.signature(function)}"
            )

    def derive(self) -> None:
        """Read the parameters of the function: of hundreds of rules, few are used."""
        lead, parameters = len(_LEADING[self.kind]), _parameters(self.function)
        named = [p for p in parameters if p.kind <= _BY_POSITION]
        self.y = named[lead - 1].name if lead else ""
        self.y_bar = named[0].name if self.kind == "pullback" else ""
        self.names = tuple([p.name for p in named[lead:]])
        self.defaults = {p.name: p.default for p in named[lead:] if p.default is not inspect.Parameter.empty}
        self.variadic = next((p.name for p in parameters if p.kind == inspect.Parameter.VAR_POSITIONAL), None)
        keywords = tuple([p.name for p in parameters if p.kind == inspect.Parameter.KEYWORD_ONLY])
        self.asks = self.variadic is not None and "wanted" in keywords
        self.static = tuple([name for name in keywords if not (self.asks and name == "wanted")])
        self.kwdefaults = dict(self.function.__kwdefaults__ or {})
        self.open = any([p.kind == inspect.Parameter.VAR_KEYWORD for p in parameters])

    def kept(self, make: Callable[[], T], *key: Any) -> T:
        """Return what `make` returns: constants or code. For our own rules, an earlier process may have made it."""
        return make() if self._earlier is None else self._earlier.get(make, key)

    @computed_once
    def _earlier(self) -> KeptRule | None:
        return kept_rule(self.function, self.kind)

    @computed_once
    def node(self) -> ast.FunctionDef | None:
        """The body's syntax tree, or None; read at its first use, since importing a rule must cost nothing."""
        return definition(self.function)

    @computed_once
    def effects(self) -> Effects | None:
        """The side effects of the body; None if its source is not known."""
        return Effects(self.node, self.function) if self.node is not None else None

    @computed_once
    def exact(self) -> bool:
        """Whether the source shows each result, and each can be removed: only then are variants made from it."""
        return self.kept(self._is_exact, "exact")

    def _is_exact(self) -> bool:
        if self.node is None or self.effects is None or self.variadic or not is_exact(self.node, len(self.names)):
            return False
        parts = [part for statement in returns(self.node.body) for part in parts_of(statement)]
        all_free = len(self.names) == 1 or all(map(self.effects.is_free, parts))  # a single result is always wanted
        once = self.multiplies and not self.computes  # a retry with NumPy's floats would run it twice
        return all_free and not once and self.effects.is_blind()

    @computed_once
    def computes(self) -> bool:
        """Whether the body has no side effect, except to raise errors, so that it may run again."""
        return self.kept(lambda: self.effects is not None and self.effects.whole() < ACTS, "computes")

    @property
    def inlines(self) -> bool:
        """Whether the source may be copied into a generated step, which calls the body if the copy raises."""
        return self.exact and self.computes

    @computed_once
    def acts(self) -> bool:
        """Whether the body may make InplaceableThunks, judged by the names in it."""
        names = _names_in_code(code_of(self.function))
        known = [self.function.__globals__.get(name) for name in names]
        return InplaceableThunk.__name__ in names or any(value is InplaceableThunk for value in known)

    def passes_on(self, k: int) -> bool:
        """Whether the cotangent of argument `k` certainly is ȳ itself."""
        return self.inlines and self.kept(lambda: self._passes_on(k), "passes on", k)

    def _passes_on(self, k: int) -> bool:
        assert self.node is not None
        parts = [parts_of(statement)[k] for statement in returns(self.node.body)]
        if self.multiplies:
            return all([unit(part) > 0 for part in parts])
        y_bar = (self.node.args.posonlyargs + self.node.args.args)[0].arg
        names = [n for n in walk_tree(self.node) if isinstance(n, ast.Name) and n.id == y_bar]
        is_itself = all([isinstance(part, ast.Name) and part.id == y_bar for part in parts])
        return is_itself and all([isinstance(n.ctx, ast.Load) for n in names])

    def variant(self, wanted: tuple[bool, ...], keeps: bool = False) -> Variant:
        """Return the Variant that computes only the wanted cotangents; `wanted` flags the positional arguments.

        With `keeps`, products with a ȳ of exactly zero are zero.
        """
        with DERIVING:
            if not self.exact:
                made = self._whole(wanted, keeps)
            elif keeps and not self.multiplies:
                node, _, *found = self._pruned(wanted)
                made = Variant(keeping.kept_text(self.function, node, [self.y_bar]), *found)
            else:
                code, cells, *found = self.kept(lambda: self._variant_code(wanted), "variant", wanted)
                made = Variant(self._function(code, keeping.times_kept if keeps else times, *cells), *found)
            return made if self.computes else made._replace(call=apart(made.call))

    def _variant_code(self, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        node, multiply, *found = self._pruned(wanted)
        return (*self._code(node, multiply), *found)

    def _pruned(self, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """Return the body without dead code, its name for `times`, what it reads, and its source."""
        node = copied_tree(self.node)
        y_bar = unused("y_bar", node, self.function)
        multiply = unused("times", node, self.function)
        wants = (*wanted, *[False] * (len(self.names) - len(wanted)))

        def results(statement: ast.Return) -> list[ast.stmt]:
            pairs = zip(parts_of(statement), wants, strict=True)
            parts = [part if want else ast.Constant(None) for part, want in pairs]
            if self.multiplies:
                parts = [_multiplied(y_bar, multiply, part) for part in parts]
            value = ast.Tuple(parts[: len(wanted)], ast.Load())
            return [ast.copy_location(ast.Return(value), statement)]

        assert self.effects is not None
        prune(node, results, self.effects.is_free)
        if self.multiplies:
            (node.args.posonlyargs or node.args.args).insert(0, ast.arg(y_bar))
        return (node, multiply, *self._read(node, self.names[: len(wanted)]), ast.unparse(node))

    def _code(self, node: ast.FunctionDef, multiply: str) -> tuple[types.CodeType, tuple[str, ...]]:
        """Compile the function `node`, which partials retry with NumPy's floats if Python's raise; name its cells."""
        retry = unused("retry", node, self.function) if self.multiplies else ""
        if retry:
            _catch(node, retry)
        return code_from(node, self.function, filter(None, [multiply, retry])), (multiply, retry)

    def _function(self, code: types.CodeType, by: Callable[..., Any], multiply: str, retry: str) -> Any:
        """Return the function of `code`, with `by` as its variable `multiply`, and a retry of it as `retry`."""
        again = types.CellType()
        call = with_closure(code, self.function, {multiply: types.CellType(by), retry: again})
        again.cell_contents = retrying(call) if retry else None
        return call

    def pushing(self, wanted: tuple[bool, ...], keeps: bool = False) -> Callable[..., Any]:
        """Return the function `(tangents, y, *args) -> ẏ` of a body of partials: Σ pₖ ẋₖ over the `wanted`, or None.

        With `keeps`, products with an ẋₖ of exactly zero are zero.
        """
        with DERIVING:
            if not self.exact:
                return whole_sum(self.function, wanted, keeping.product_kept if keeps else operator.mul)
            code, cells = self.kept(lambda: self._pushing_code(wanted, keeps), "pushing", wanted, keeps)
            return self._function(code, keeping.product_kept, *cells)

    def _pushing_code(self, wanted: tuple[bool, ...], keeps: bool) -> tuple[types.CodeType, tuple[str, ...]]:
        node = copied_tree(self.node)
        tangents = unused("tangents", node, self.function)
        multiply = unused("multiply", node, self.function) if keeps else ""

        def results(statement: ast.Return) -> list[ast.stmt]:
            parts = zip(parts_of(statement), wanted, strict=False)
            terms = [_scaled(f"{tangents}[{k}]", part, multiply) for k, (part, want) in enumerate(parts) if want]
            return [ast.copy_location(ast.Return(_total(terms)), statement)]

        assert self.effects is not None
        prune(node, results, self.effects.is_free)
        (node.args.posonlyargs or node.args.args).insert(0, ast.arg(tangents))
        return self._code(node, multiply)

    def _whole(self, wanted: tuple[bool, ...], keeps: bool) -> Variant:
        """Make the variant that calls the whole body and drops unwanted results."""
        asked = {"wanted": wanted} if self.asks else {}
        multiply = (keeping.times_kept if keeps else times) if self.multiplies else None
        function = keeping.keeping(self.function, (self.y_bar,)) if keeps and not multiply else self.function
        call = whole(function, multiply, wanted, max(len(wanted), len(self.names)), asked)
        reads, further, reads_y = self.kept(self._reads_whole, "reads")
        count = len(wanted)
        return Variant(call, (*reads[:count], *[further] * (count - len(reads))), reads_y, None)

    def _reads_whole(self) -> tuple[tuple[str, ...], str, str]:
        """Return what the whole body reads of its arguments, of further ones, and of the result."""
        if self.node is None or self.effects is None or not self.effects.is_blind():
            return ("value",) * len(self.names), "value", "value"
        (*reads, further), reads_y = self._read(self.node, [*self.names, str(self.variadic)])
        return tuple(reads), further, reads_y

    def _read(self, node: ast.FunctionDef, names: Sequence[str]) -> tuple[tuple[str, ...], str]:
        """Return what the source reads of the arguments `names` and of the result: "value", "shape" or "nothing"."""
        nodes = walk_tree(node)
        found = {name: reads(nodes, name, self.function, name == self.variadic) for name in {*names, self.y}}
        return tuple(found[name] for name in names), found[self.y]


def _names_in_code(code: types.CodeType) -> set[str]:
    """Return the names of globals and attributes in a code object and in the functions that it makes."""
    inner = [_names_in_code(const) for const in code.co_consts if isinstance(const, types.CodeType)]
    return {*code.co_names, *code.co_freevars}.union(*inner)


def _catch(node: ast.FunctionDef, retry: str) -> None:
    """Put the body of `node` in a `try` that calls `retry` on NumPy's floats, which return inf where Python's raise."""
    args = node.args
    names = [a.arg for a in [*args.posonlyargs, *args.args]] + [f"{a.arg}={a.arg}" for a in args.kwonlyargs]
    given = ", ".join([f"{retry}_error", *names])
    text = f"try: pass\nexcept ArithmeticError as {retry}_error: return {retry}({given})"
    guard: Any = ast.parse(text).body[0]
    guard.body, node.body = node.body, [guard]


def _keep(x: Any, what: str) -> Any:
    return x if what == "value" else spec_of(x) if what == "shape" else None


def _total(parts: Sequence[ast.expr | None]) -> ast.expr:
    """Return the sum of the expressions that are not None, or the literal None if there is none."""
    left = [part for part in parts if part is not None]
    return functools.reduce(lambda a, b: ast.BinOp(a, ast.Add(), b), left) if left else ast.Constant(None)


def _scaled(tangent: str, part: ast.expr, multiply: str) -> ast.expr | None:
    """Return the product of the source `tangent` and a partial; by a call of `multiply` unless that is empty."""
    if isinstance(part, ast.Constant) and part.value is None:
        return None
    sign, factor = unit(part), ast.parse(tangent, mode="eval").body
    if sign:
        return factor if sign > 0 else ast.UnaryOp(ast.USub(), factor)
    if multiply:
        return ast.Call(ast.Name(multiply, ast.Load()), [factor, part], [])
    return ast.BinOp(factor, ast.Mult(), part)


def _multiplied(y_bar: str, multiply: str, part: ast.expr) -> ast.expr:
    cotangent = ast.Name(y_bar, ast.Load())
    sign = unit(part)
    if isinstance(part, ast.Constant) and part.value is None:
        return part
    if sign:
        made: ast.expr = cotangent if sign > 0 else ast.UnaryOp(ast.USub(), cotangent)
    else:
        made = ast.Call(ast.Name(multiply, ast.Load()), [cotangent, part], [])
    return ast.copy_location(made, part)
