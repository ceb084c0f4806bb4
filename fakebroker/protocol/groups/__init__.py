"""JoinGroup, SyncGroup and Heartbeat requests of members of classic groups, and their readers."""
