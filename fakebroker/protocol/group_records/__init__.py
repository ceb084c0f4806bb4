"""The records of __consumer_offsets: what they are about, and their layouts."""
