"""Step methods and their automatic assignment."""
