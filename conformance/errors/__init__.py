"""Which error Kafka was seen to answer to which API, and what was there afterwards: the origin of each row of the table
of faults."""
