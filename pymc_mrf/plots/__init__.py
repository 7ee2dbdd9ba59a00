"""Plots in the conventions of arviz-plots."""
