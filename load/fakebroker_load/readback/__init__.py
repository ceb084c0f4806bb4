"""The read-back of logs: their records, problems of their batches, and whether followers have the same."""
