"""What becomes of scipy.integrate: quad and initial value problems have stand-ins, the rest is followed."""

MODULES = ("scipy.integrate",)

TRACED = {
    "cubature cumulative_simpson cumulative_trapezoid dblquad fixed_quad nquad qmc_quad quad_vec romb simpson tanhsinh",
    "tplquad trapezoid solve_bvp BDF Radau DenseOutput OdeSolution OdeSolver ode complex_ode",
}

CONSTANT = {
    "newton_cotes lebedev_rule": "nodes and weights for an integer order",
    "IntegrationWarning ODEintWarning": "a warning",
}

REFUSED = {
    "LSODA": "an integrator in C: use solve_ivp or odeint",
}
