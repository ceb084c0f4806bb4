"""Faults at work: what matches is held at its points, and done when nobody is in the middle of something."""
