"""The records of __consumer_offsets and their layouts."""
