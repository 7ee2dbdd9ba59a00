"""Likelihoods of fields of answers and measurements."""
