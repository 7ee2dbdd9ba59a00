"""Likelihoods, a folder each: what fields, steps, messages and checks ask, and the engines of steps."""
