"""The Monte Carlo likelihood: one sample at a reference near the data."""
