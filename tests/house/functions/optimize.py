"""What becomes of scipy.optimize: what its solvers find is differentiated implicitly, by stand-ins."""

MODULES = ("scipy.optimize",)

TRACED = {
    "approx_fprime check_grad rosen rosen_der rosen_hess rosen_hess_prod bracket line_search",
    "Bounds LinearConstraint NonlinearConstraint",
}

CONSTANT = {
    "show_options linprog_verbose_callback": "strings",
    "BFGS SR1 HessianUpdateStrategy LbfgsInvHessProduct": "approximations inside a solver",
    "BroydenFirst InverseJacobian KrylovJacobian": "approximations inside a solver",
    "OptimizeWarning": "a warning",
}

REFUSED: dict[str, str] = {}
