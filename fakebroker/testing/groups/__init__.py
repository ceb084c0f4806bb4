"""Members of a group among faults, and a judge of what they were told: who owns, reads and commits what."""
