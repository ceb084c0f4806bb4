"""Consumer groups (KIP-848): the broker computes the assignment, and members learn it one by one."""
