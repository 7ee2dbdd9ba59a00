"""`TreeGibbs`: hidden fields and missing cells."""
