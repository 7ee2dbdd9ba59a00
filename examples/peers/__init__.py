"""Other packages beside ours: tables, scripts in R, what they found, and our models."""
