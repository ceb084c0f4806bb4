"""The rules of the oracle that have their own files."""
