"""PyMC distributions: Markov random fields and the priors over their edge parameters.

A conversion to JAX is not implemented.
"""
