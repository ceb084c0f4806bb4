"""Generated traffic of several connections at once: members of a group join, sync, commit, leave and disconnect."""
