"""Responses that are written by hand, and responses that are never in memory as a whole."""
