"""APIs of transactions: their partitions, offsets, ends and markers, and lists of them."""
