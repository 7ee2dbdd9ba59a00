"""Densities of single parameters, as kernels take them."""
