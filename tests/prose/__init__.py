"""The lint of the prose: docstrings and comments in plain technical English."""
