"""Forward steps for calls on one or two floats, as generated source: one run per call while tangents stream."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from wengert.rulebook.rule_variants import RuleBody
from wengert.rulebook.steps import Generated, ScalarStep, generated_step, is_none, may_step
from wengert.rulebook.syntax import parts_of, unit

Pushing = Callable[[tuple[bool, ...]], Callable[..., Any]]


def forward_step(body: RuleBody, wanted: tuple[bool, ...], pushing: Pushing) -> Callable[[Any, Any], Any]:
    """Return `step(entry, tangents)`, which returns the tangent of a call on floats; `tangents` has them by slot.

    `wanted` flags the arguments that have slots. `pushing(mask)` returns the general function of partials. The step
    calls it for tangents of None (zero), and for floats for which Python's functions raise.
    """

    def slow(entry: Any, tangents: Any) -> Any:
        given = tuple([tangents[slot] if want else None for slot, want in zip(entry[2], wanted, strict=True)])
        mask = tuple([tangent is not None for tangent in given])
        return pushing(mask)(given, entry[1], *entry[3]) if any(mask) else None

    def generator() -> _ForwardStep | None:
        return _ForwardStep(body, wanted) if may_step(body, wanted) else None

    return generated_step(body, generator, slow, "forward step", wanted)


class _ForwardStep(ScalarStep):
    """Generator of `step(e, tangents)`."""

    title = "wengert forward step"

    def build(self) -> Generated:
        self.prune(self._returns)
        self.node = ast.fix_missing_locations(self.visit(self.node))
        lines = ast.unparse(ast.Module(self.node.body, [])).splitlines()
        e, tangents, slow = (self.name[n] for n in ("e", "cotangents", "slow"))
        text = [f"def step({e}, {tangents}):", *[f"    {line}" for line in self._unpack()], "    try:"]
        text += [f"        {line}" for line in lines]
        text += ["    except (ValueError, ArithmeticError, TypeError):", f"        return {slow}({e}, {tangents})", ""]
        return self.compile("\n".join(text))

    def _returns(self, statement: ast.Return) -> list[ast.stmt]:
        """Return the statement that returns the sum of partials times tangents."""
        terms = []
        for n, part, want in zip("ij", parts_of(statement), self.wanted, strict=False):
            if want and not is_none(part):
                sign, tangent = unit(part), f"{self.name['cotangents']}[{self.name[n]}]"
                terms.append(tangent if sign > 0 else f"-{tangent}" if sign else f"{tangent} * ({ast.unparse(part)})")
        return ast.parse(f"return {' + '.join(terms) or None}").body
