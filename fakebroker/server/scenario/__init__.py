"""Scenario files: the definition of a cluster and its initial content, as YAML."""
