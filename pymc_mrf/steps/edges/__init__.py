"""Steps of `SpikeAndSlab` edges."""
