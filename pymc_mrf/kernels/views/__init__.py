"""Likelihoods as the moves of edges see them: the questions, and one file of answers each."""
