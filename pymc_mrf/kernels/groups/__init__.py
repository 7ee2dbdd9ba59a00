"""Moves of grouped parameters, the views that they ask, and moves of partitions."""
