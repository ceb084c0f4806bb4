"""Faults as values: selectors, point, actions and number of times, and the rules for valid ones."""
