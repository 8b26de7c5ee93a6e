"""What becomes of numpy.random: draws are constants of what they are drawn with, and move with their parameters."""

MODULES = ("numpy.random",)

TRACED: set[str] = set()

CONSTANT = {
    "bytes default_rng get_state set_state seed rand randint randn random random_integers random_sample ranf": (
        "draws, without parameters that they move with"
    ),
    "sample standard_cauchy standard_exponential standard_normal": "draws, without parameters that they move with",
    "BitGenerator Generator MT19937 PCG64 PCG64DXSM Philox RandomState SFC64 SeedSequence": "generators",
}

REFUSED = {
    "binomial geometric hypergeometric logseries multinomial negative_binomial poisson zipf": (
        "whole numbers: the derivative of their mean is not that of a draw"
    ),
    "beta chisquare dirichlet f lognormal noncentral_chisquare noncentral_f pareto power standard_gamma standard_t": (
        "draws by rejection, or of several numbers"
    ),
    "triangular vonmises wald weibull": "draws by rejection, or of several numbers",
}
