"""Other packages on the tables of `tables.py`: scripts in R that run them, what they found, and our models."""
