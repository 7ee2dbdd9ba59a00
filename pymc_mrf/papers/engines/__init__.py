"""What the published samplers ask of a field and its data."""
