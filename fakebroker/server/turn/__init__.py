"""Turns of the event loop: limits for the work and the reads of one turn."""
