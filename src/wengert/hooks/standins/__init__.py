"""Stand-ins of C callables during a trace: builtins, iteration, the standard library, containers, ufuncs."""
