"""Compaction: of each key the last record is kept."""
