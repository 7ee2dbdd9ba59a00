"""The normal density."""
