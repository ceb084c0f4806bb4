"""The log of one replica: what may be appended, what is kept, and for how long."""
