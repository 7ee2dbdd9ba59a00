"""Runs that outlive a process: chains that are written down while they run, and go on where they stopped."""
