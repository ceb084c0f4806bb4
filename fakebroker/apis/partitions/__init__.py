"""APIs of partitions: their number, replicas, leaders, records and log directories."""
