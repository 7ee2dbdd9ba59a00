"""Scripts that regenerate the numbers and figures of the documentation."""
