"""Errors that Kafka returned for each API, and the state afterwards: the origin of each row of the table of faults."""
