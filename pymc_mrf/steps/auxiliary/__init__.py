"""`Exchange`: parameters of intractable fields by auxiliary data."""
