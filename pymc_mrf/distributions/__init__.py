"""PyMC distributions: Markov random fields and the priors over their edge parameters."""
