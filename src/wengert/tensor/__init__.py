"""Differentiating a tensor language: derivatives that are provably as cheap as the program."""

from wengert.tensor.function import TensorFunction as TensorFunction
from wengert.tensor.function import function as function
from wengert.tensor.language.relations import Relation as Relation
from wengert.tensor.language.relations import relation as relation
