"""Scenarios, read from YAML: the requests to send, and the expected responses."""
