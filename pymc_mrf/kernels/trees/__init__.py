"""Draws of fields by whole trees: Rivasseau (2005)."""
