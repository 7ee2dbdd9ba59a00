"""Fields with numbers in them; no PyMC."""
