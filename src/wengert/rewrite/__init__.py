"""Bytecode rewriting: every site that can compute on values goes through a hook."""

from wengert.rewrite.rewriter import instrument, original

__all__ = ["instrument", "original"]
