"""Bytecode rewriting: every instruction that can compute on values calls a hook."""

from wengert.rewrite.rewriter import instrument, rewriter_of
from wengert.values.codes import original

__all__ = ["instrument", "original", "rewriter_of"]
