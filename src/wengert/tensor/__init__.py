"""A differentiable tensor language, in which derivatives are provably as cheap as the program."""

from wengert.tensor.function import TensorFunction, function
from wengert.tensor.language.relations import Relation, relation

__all__ = ["Relation", "TensorFunction", "function", "relation"]
