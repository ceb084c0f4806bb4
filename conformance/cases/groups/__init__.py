"""Groups: coordinators, members, committed offsets."""
