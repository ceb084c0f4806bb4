"""Answers written by hand, and answers that are never in memory as a whole."""
