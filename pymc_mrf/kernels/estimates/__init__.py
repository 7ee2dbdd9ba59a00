"""Point estimates, approximate marginals and modes."""
