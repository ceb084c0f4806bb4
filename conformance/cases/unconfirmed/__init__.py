"""Writes of coordinators that nobody confirmed, and coordinators that are not there: which error that is told as, and
what has been done by then."""
