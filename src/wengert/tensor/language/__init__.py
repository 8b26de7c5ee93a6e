"""The tensor language: terms, types, evaluation, costs."""
