"""The journal of a producer: the probe tells its events, a journal keeps them, and each is a line of JSON."""
