"""Ratios of likelihoods from weighted particles."""
