"""Committed offsets: written, read, deleted, expired."""
