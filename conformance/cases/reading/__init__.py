"""Reads: Fetch, ListOffsets, OffsetForLeaderEpoch."""
