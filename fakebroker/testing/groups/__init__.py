"""Members of a group among faults, and a judge of their reports: which member owns, reads and commits what."""
