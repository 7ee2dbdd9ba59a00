"""Ways to an estimate that do not sample."""

FIND_MAP = {"return_inferencedata": True, "jitter": False}  # PyMC 6.4 warns without them
