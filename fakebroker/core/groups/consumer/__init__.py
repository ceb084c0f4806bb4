"""Groups whose assignment the broker computes, and whose members learn it one by one (KIP-848)."""
