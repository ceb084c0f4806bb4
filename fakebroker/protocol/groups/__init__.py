"""JoinGroup, SyncGroup and Heartbeat: what members of classic groups ask, and its answers, read and written by hand."""
