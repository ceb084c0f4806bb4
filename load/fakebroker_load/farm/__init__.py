"""The simulation farm: many seeds of the broker's own simulation, shared out to Spark's tasks."""
