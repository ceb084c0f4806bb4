"""Records that are out of memory: a temporary file, and who has which part of it."""
