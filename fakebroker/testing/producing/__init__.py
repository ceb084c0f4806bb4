"""Simulated producers and their cluster in the same virtual time."""
