"""Affine expressions of indices and sizes: the only subscripts and the only lengths that the language has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import index as as_int


@dataclass(frozen=True, slots=True)
class AffineExpr:
    """constant + Σ coefficient·name, with the terms sorted by name and no zero coefficient."""

    constant: int
    terms: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: AffineExpr | int) -> AffineExpr:
        other = affine(other)
        if not other.terms:
            return AffineExpr(self.constant + other.constant, self.terms)
        return _collected(self.constant + other.constant, (*self.terms, *other.terms))

    def __mul__(self, factor: int) -> AffineExpr:
        return AffineExpr(
            self.constant * factor, tuple([(name, c * factor) for name, c in self.terms]) if factor else ()
        )

    def __neg__(self) -> AffineExpr:
        return self * -1

    def __sub__(self, other: AffineExpr | int) -> AffineExpr:
        return self + -affine(other)

    def __rsub__(self, other: int) -> AffineExpr:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.terms)

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def coefficient(self, name: str) -> int:
        return dict(self.terms).get(name, 0)

    def substitute(self, indices: Mapping[str, AffineExpr | int]) -> AffineExpr:
        if not any(name in indices for name, _ in self.terms):
            return self
        constant, terms = self.constant, list[tuple[str, int]]()
        for name, c in self.terms:
            part = affine(indices.get(name, name)) * c
            constant += part.constant
            terms += part.terms
        return _collected(constant, terms)


def affine(x: AffineExpr | int | str) -> AffineExpr:
    """Return an integer or a name as an affine expression."""
    if isinstance(x, AffineExpr):
        return x
    return AffineExpr(0, ((x, 1),)) if isinstance(x, str) else AffineExpr(as_int(x))


def _collected(constant: int, terms: Iterable[tuple[str, int]]) -> AffineExpr:
    sums: dict[str, int] = {}
    for name, c in terms:
        sums[name] = sums.get(name, 0) + c
    return AffineExpr(constant, tuple(sorted((name, c) for name, c in sums.items() if c)))
