"""Faults that arise, in the user's hand: `kafka.faults.partition([1], [2, 3])`."""
