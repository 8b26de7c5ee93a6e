"""What becomes of numpy.random: draws move with their parameters, or are refused where they are discrete."""

MODULES = ("numpy.random",)

TRACED: set[str] = set()

CONSTANT = {
    "bytes default_rng get_state set_state seed rand randn random random_sample ranf": (
        "draws without real parameters"
    ),
    "sample standard_cauchy standard_exponential standard_normal": "draws without real parameters",
    "BitGenerator Generator MT19937 PCG64 PCG64DXSM Philox RandomState SFC64 SeedSequence": "generators",
}

REFUSED = {
    "binomial geometric hypergeometric logseries multinomial negative_binomial poisson zipf": (
        "integer draws: use the score function"
    ),
    "randint random_integers": "integer draws: use the score function",
}
