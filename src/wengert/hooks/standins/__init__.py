"""What stands for callables of C: builtins, iteration, the standard library, containers, texts, ufuncs."""
