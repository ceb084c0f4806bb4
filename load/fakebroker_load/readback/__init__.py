"""What a log has, read back: its records, what is wrong with their batches, and whether followers have the same."""
