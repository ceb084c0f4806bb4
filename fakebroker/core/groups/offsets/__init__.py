"""Committed offsets: writing, reading, deleting, expiring."""
