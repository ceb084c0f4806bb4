"""Who a client is, and by which door it came."""
