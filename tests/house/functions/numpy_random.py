"""What becomes of numpy.random: draws move with their parameters, or are refused where they are discrete."""

MODULES = ("numpy.random",)

TRACED: set[str] = set()

CONSTANT = {
    "bytes default_rng get_state set_state seed rand randn random random_sample ranf": (
        "draws without real parameters"
    ),
    "sample standard_cauchy standard_exponential standard_normal": "draws without real parameters",
    "BitGenerator MT19937 PCG64 PCG64DXSM Philox SFC64 SeedSequence": "bits and seeds of generators",
    "Generator RandomState": (
        "objects whose methods draw, with [these derivatives](distributions.md#differentiate-a-random-draw)"
    ),
}

REFUSED = {
    "binomial geometric hypergeometric logseries multinomial negative_binomial poisson zipf": (
        "integer draws: use the score function"
    ),
    "randint random_integers": "integer draws: use the score function",
}
