"""What cases of transactions need: frames, steps, and what stands for ids and times of control batches."""
