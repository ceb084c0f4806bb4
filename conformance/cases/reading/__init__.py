"""What is read back: Fetch, ListOffsets, OffsetForLeaderEpoch."""
