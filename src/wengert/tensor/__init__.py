"""Differentiating a tensor language: derivatives that are provably as cheap as the program."""
