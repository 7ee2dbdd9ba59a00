"""Log-partition functions along one coupling, and a field, by simulation."""
