"""What stands for callables of C while something is recorded: builtins, iteration, the library, containers, ufuncs."""
