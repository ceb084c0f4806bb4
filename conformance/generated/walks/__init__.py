"""Generated traffic of several connections at once: members of a group who join, sync, commit, leave and go away."""
