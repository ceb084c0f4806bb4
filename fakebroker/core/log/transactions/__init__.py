"""The transactions of a log: the open ones, the aborted ones, and the verification of new ones."""
