"""The clients of the load besides raw frames: producers, consumers and transactions; and their rows."""
