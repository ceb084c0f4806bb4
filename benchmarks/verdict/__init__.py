"""The time of the load's verdict, by the number of requests."""
