"""Who a client is, by which door it came, and what it may do."""
