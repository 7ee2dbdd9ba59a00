"""Point estimates of field parameters and of their structure.

Estimates for a `FactorGraph` are not implemented: fields are pairwise.
"""
