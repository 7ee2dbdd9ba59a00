"""Numbers by which a step judges its own chain, and `pymc_mrf.diagnose` the run: both read them here."""

LEAST_DRAWS = 50
"""Draws below which a variable may stand still by chance."""

EDGE_NOISE = 0.5
"""Noise of the log-likelihood ratios of `EdgeGibbs`, which are corrected for it, of which nothing is said."""

COUPLING_DRAWS = 20
"""Draws, about, at which the strength of couplings is looked at under a pseudo-likelihood."""

MOMENTUM_TOLERANCE = 0.2
"""Of the mean square of the momenta of `PersistentLangevin`, which should be 1, beyond its error."""

MOMENTUM_ERRORS = 3.0
"""Standard errors that count as the error of that mean square."""

LEAST_RANGE = 0.5
"""Posterior standard deviations that the value which moves most must range over."""
