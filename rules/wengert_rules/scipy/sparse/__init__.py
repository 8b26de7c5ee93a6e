"""Rules for scipy.sparse: the functions of C below its classes, whose Python code is traced through."""

from __future__ import annotations

from wengert_rules.scipy.sparse import blocks, movements, patterns, products
