"""What clients may use, and for how long they are muted when they used more."""
