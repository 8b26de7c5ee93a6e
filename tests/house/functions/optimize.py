"""What becomes of scipy.optimize: what its solvers find is differentiated implicitly, by stand-ins."""

MODULES = ("scipy.optimize",)

TRACED = {
    "approx_fprime check_grad rosen rosen_der rosen_hess rosen_hess_prod bracket line_search",
    "Bounds LinearConstraint NonlinearConstraint",
}

CONSTANT = {
    "show_options linprog_verbose_callback": "text",
    "BFGS SR1 HessianUpdateStrategy LbfgsInvHessProduct": "approximations that a solver works with",
    "BroydenFirst InverseJacobian KrylovJacobian": "approximations that a solver works with",
    "OptimizeWarning": "a warning",
}

REFUSED: dict[str, str] = {}
