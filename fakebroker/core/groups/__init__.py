"""Groups: members that share partitions, and the offsets that they commit."""
