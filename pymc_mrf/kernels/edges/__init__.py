"""Moves of edges and biases, whatever the likelihood."""
