"""Writes of coordinators that were not replicated, and coordinators that are not available: the error codes, and the
work done until then."""
