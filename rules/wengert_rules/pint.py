"""Quantities of pint as arguments: their magnitudes. A gradient has the units of its quantity."""

from __future__ import annotations

from pint.facets.plain import PlainQuantity

from wengert.extend import holds

holds(
    PlainQuantity,
    keys=lambda quantity: ["_magnitude"],
    load=getattr,
    store=setattr,
    copy=lambda quantity: type(quantity)(quantity._magnitude, quantity._units),
)
