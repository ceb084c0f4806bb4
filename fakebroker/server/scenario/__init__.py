"""Scenario files: what a cluster is made of and what is in it from the start, as YAML."""
