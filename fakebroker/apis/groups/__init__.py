"""APIs of groups: coordinators, members, committed offsets."""
