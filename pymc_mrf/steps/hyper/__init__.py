"""Steps of hyperparameters and communities."""
