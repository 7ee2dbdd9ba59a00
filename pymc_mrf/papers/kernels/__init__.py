"""Loops of the published samplers: arrays and a `numpy.random.Generator` in, arrays out."""
