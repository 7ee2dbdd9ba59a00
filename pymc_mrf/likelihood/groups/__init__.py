"""Engines of grouped parameters, one likelihood each."""
