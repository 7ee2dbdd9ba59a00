"""Fields in time: rows given the earlier ones."""
