"""Engines: ways to evaluate the intractable likelihood of a field, one file each."""
