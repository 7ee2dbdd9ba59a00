"""Samplers as published by Liu & Page (2013) and Chen & Welling (2012), for comparison; none is a default."""
