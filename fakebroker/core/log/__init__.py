"""One replica's log: what may be appended, what is kept, and for how long."""
