"""The engine of faults: matching requests stop at points, and actions run between two events."""
