"""Auxiliary data sets, and what is learnt from them."""
