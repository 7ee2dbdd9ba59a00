"""Engines of `SpikeAndSlab` edges, one likelihood each."""
