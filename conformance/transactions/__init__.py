"""Common parts of the cases of transactions: frames, steps, and stand-ins for ids and times of control batches."""
