"""Point estimates of field parameters and of their structure."""
