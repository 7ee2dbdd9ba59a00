"""Pseudo-likelihoods: products of full conditionals."""
