"""pymoo: test problems."""

import numpy as np
from case import case
from pymoo.indicators.hv import HV
from pymoo.problems import get_problem

X = np.array([0.3, 0.6, 0.2, 0.8, 0.5])


def problem(name, **kwargs):
    p = get_problem(name, n_var=5, **kwargs)

    def f(x):
        return p.evaluate(x, return_values_of=["F"])

    f.__name__ = name
    return f


for _name in (
    "zdt1",
    "zdt2",
    "zdt3",
    "ackley",
    "rastrigin",
    "rosenbrock",
    "griewank",
    "schwefel",
    "sphere",
    "zakharov",
):
    case(X)(problem(_name))
case(X)(problem("dtlz2", n_obj=3))


@case(X[:2])
def bnh_constraints(x):
    return tuple(get_problem("bnh").evaluate(x, return_values_of=["F", "G"]))


@case(np.array([[0.2, 0.8], [0.5, 0.5], [0.8, 0.1]]))
def hypervolume(f):
    return HV(ref_point=np.array([1.0, 1.0]))(f)
