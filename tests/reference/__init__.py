"""Plain-Python twins of the kernels and enumeration of small fields: slow, obvious, independent."""
