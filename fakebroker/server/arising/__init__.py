"""State faults, as users of a cluster inject them: `kafka.faults.partition([1], [2, 3])`."""
