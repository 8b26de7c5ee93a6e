"""deap: benchmark functions on lists of floats."""

import numpy as np
from case import case
from deap import benchmarks

X = np.array([0.3, -0.6, 0.2, 1.1])


def benchmark(name, n=4):
    f = getattr(benchmarks, name)

    def run(x):
        return f(list(x))[0]

    run.__name__ = name
    case(X[:n])(run)


for _name in (
    "sphere",
    "cigar",
    "rosenbrock",
    "ackley",
    "rastrigin",
    "griewank",
    "schwefel",
    "bohachevsky",
    "schaffer",
):
    benchmark(_name)
benchmark("himmelblau", 2)
benchmark("h1", 2)


@case(X)
def kursawe(x):
    return benchmarks.kursawe(x)
