"""What all steps share: the life of a chain, statistics, the field of a model."""
