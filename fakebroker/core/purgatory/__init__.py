"""Delayed operations, the keys that complete them, and all deadlines of a cluster."""
