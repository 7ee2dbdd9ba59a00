"""The exact likelihood, by junction tree or enumeration."""
