"""Faults as values: when, at which point, what, how often; and what of that can be."""
