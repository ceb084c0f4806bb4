"""What this machine is and has: programs compiled at run time, versions, load."""
