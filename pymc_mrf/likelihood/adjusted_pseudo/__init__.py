"""The adjusted pseudo-likelihood."""
