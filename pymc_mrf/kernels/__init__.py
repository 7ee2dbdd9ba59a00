"""Numba kernels: arrays and a `numpy.random.Generator` in, arrays out. They validate nothing."""
