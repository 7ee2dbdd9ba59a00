"""Posterior in, answers out; nothing here samples."""
