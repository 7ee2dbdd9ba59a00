"""Markov chains of fields, and counts of their states."""
