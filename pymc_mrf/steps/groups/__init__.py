"""Steps of `DirichletProcess` parameters."""
