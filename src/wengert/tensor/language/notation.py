"""Print programs in the paper's notation: ⊞[i:n] e, Σ[i:n] e, [p]·e. Nothing parses it."""

from __future__ import annotations

from wengert.tensor.language.terms import (
    Access,
    Add,
    AffineExpr,
    And,
    Apply,
    Bracket,
    Compare,
    Const,
    Exists,
    Expr,
    Gen,
    LetIn,
    Mul,
    Or,
    Pair,
    PairType,
    Predicate,
    Proj,
    Real,
    Related,
    Sum,
    TensorProgram,
    TensorType,
    Type,
    Unrelated,
    Var,
    affine,
)

# precedence, weakest first: let, ⊞ and Σ extend as far right as they can; then +, [p]·, ·, π, and atoms
OPEN, ADD, BRACKET, MUL, PREFIX, ATOM = range(6)


def show_program(program: TensorProgram) -> str:
    """Print a program: its inputs, then one let per line, then the result."""
    inputs = "".join(f"input {name} : {show_type(of)}\n" for name, of in program.inputs)
    relations = "".join(f"relation {name} ⊆ {_show_shape(shape)}\n" for name, shape in program.relations)
    return inputs + relations + show_expr(program.body)


def _show_shape(shape: tuple[AffineExpr, ...]) -> str:
    return "×".join(show_affine(size) for size in shape)


def show_type(of: Type) -> str:
    match of:
        case Real():
            return "ℝ"
        case PairType(left, right):
            return f"({show_type(left)} × {show_type(right)})"
        case TensorType(size, element):
            return f"[{show_affine(size)}]{show_type(element)}"


def show_expr(e: Expr, needs: int = OPEN) -> str:
    """Print an expression, in parentheses where it binds weaker than `needs`."""
    strength, text = _expr(e)
    return f"({text})" if strength < needs else text


def _expr(e: Expr) -> tuple[int, str]:
    """Return the precedence of an expression and its text."""
    match e:
        case Var(name):
            return ATOM, name
        case Const(value):
            return (OPEN if str(value).startswith("-") or "/" in str(value) else ATOM), str(value)
        case Add(left, right):
            return ADD, f"{show_expr(left, ADD)} + {show_expr(right, BRACKET)}"
        case Mul(left, right):
            return MUL, f"{show_expr(left, MUL)}·{show_expr(right, PREFIX)}"
        case Apply(of, args):
            return ATOM, f"{of.name}({', '.join(map(show_expr, args))})"
        case Pair(left, right):
            return ATOM, f"({show_expr(left)}, {show_expr(right)})"
        case Proj(k, of):
            return PREFIX, f"π{'₀₁'[k]} {show_expr(of, PREFIX)}"
        case Access(of, at):
            return ATOM, f"{show_expr(of, ATOM)}[{show_affine(at)}]"
        case Bracket(where, body):
            reach = OPEN if isinstance(body, (Gen, Sum)) else BRACKET
            return reach, f"[{show_predicate(where)}]·{show_expr(body, reach)}"
        case Gen() | Sum():
            return OPEN, _show_nested("⊞" if isinstance(e, Gen) else "Σ", e)
        case LetIn(name, value, body):
            return OPEN, f"let {name} = {show_expr(value)} in\n{show_expr(body)}"


def _show_nested(sign: str, e: Gen | Sum) -> str:
    """Print directly nested ⊞ or Σ as one: Σ[i:n, j:m] e."""
    ranges, body = [(e.index, e.size)], e.body
    while type(body) is type(e):
        ranges.append((body.index, body.size))
        body = body.body
    return f"{sign}[{', '.join(f'{index}:{show_affine(size)}' for index, size in ranges)}] {show_expr(body)}"


def show_affine(a: AffineExpr) -> str:
    """Print an affine expression, as in 2·i+n-1."""
    parts = [("-" if c < 0 else "+", name if abs(c) == 1 else f"{abs(c)}·{name}") for name, c in _positive_first(a)]
    if a.constant or not parts:
        parts.append(("-" if a.constant < 0 else "+", str(abs(a.constant))))
    (sign, first), *rest = parts
    return (sign if sign == "-" else "") + first + "".join(f"{s}{text}" for s, text in rest)


def _positive_first(a: AffineExpr) -> list[tuple[str, int]]:
    return sorted(a.terms, key=lambda term: term[1] < 0)


def show_predicate(p: Predicate, within: type | None = None) -> str:
    match p:
        case Compare(op, side):
            return _comparison(op, side)
        case Related(relation, at) | Unrelated(relation, at):
            sign = "¬" if isinstance(p, Unrelated) else ""
            return f"{sign}{relation}({', '.join(map(show_affine, at))})"
        case And(parts):
            return " ∧ ".join(show_predicate(q, And) for q in parts) or "true"
        case Or(parts):
            text = " ∨ ".join(show_predicate(q, Or) for q in parts) or "false"
            return f"({text})" if within is And and len(parts) > 1 else text
        case Exists(index, size, of):
            text = f"∃[{index}:{show_affine(size)}] {show_predicate(of)}"
            return f"({text})" if within else text


def _comparison(op: str, side: AffineExpr) -> str:
    """Print an atom as a = b, a < b or a ≤ b, with terms moved to the side where they need no minus sign."""
    right = sum((affine(name) * c for name, c in side.terms if c > 0), AffineExpr(max(side.constant, 0)))
    left = right - side
    if op == "=":
        sides = (right, left) if _is_name(right) or not _is_name(left) else (left, right)
        return " = ".join(map(show_affine, sides))
    if op == ">=" and left.constant >= 1 and left.terms:
        return f"{show_affine(left - 1)} < {show_affine(right)}"
    if op == ">=" and not left.terms and left.constant == 1:
        return f"0 < {show_affine(right)}"
    return f"{show_affine(left)} {'≤' if op == '>=' else '<'} {show_affine(right)}"


def _is_name(a: AffineExpr) -> bool:
    return len(a.terms) == 1 and not a.constant
