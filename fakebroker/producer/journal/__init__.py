"""The journal of a producer: a listener receives its events in order, a recorder keeps them, and each is a line of
JSON."""
