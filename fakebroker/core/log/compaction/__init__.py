"""Compaction: the last record of each key is kept."""
