"""Indices and sizes: affine expressions, the only ones that may say where to read and how far to go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import index as as_int


@dataclass(frozen=True, slots=True)
class Affine:
    """constant + Σ coefficient·name; the terms sorted by name, no coefficient zero."""

    constant: int
    terms: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: Affine | int) -> Affine:
        other = affine(other)
        if not other.terms:
            return Affine(self.constant + other.constant, self.terms)
        return _collected(self.constant + other.constant, (*self.terms, *other.terms))

    def __mul__(self, factor: int) -> Affine:
        return Affine(self.constant * factor, tuple([(name, c * factor) for name, c in self.terms]) if factor else ())

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + -affine(other)

    def __rsub__(self, other: int) -> Affine:
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

    def substitute(self, indices: Mapping[str, Affine | int]) -> Affine:
        if not any(name in indices for name, _ in self.terms):
            return self
        constant, terms = self.constant, list[tuple[str, int]]()
        for name, c in self.terms:
            part = affine(indices.get(name, name)) * c
            constant += part.constant
            terms += part.terms
        return _collected(constant, terms)


def affine(x: Affine | int | str) -> Affine:
    """The index expression that is an int or a name."""
    if isinstance(x, Affine):
        return x
    return Affine(0, ((x, 1),)) if isinstance(x, str) else Affine(as_int(x))


def _collected(constant: int, terms: Iterable[tuple[str, int]]) -> Affine:
    sums: dict[str, int] = {}
    for name, c in terms:
        sums[name] = sums.get(name, 0) + c
    return Affine(constant, tuple(sorted((name, c) for name, c in sums.items() if c)))
