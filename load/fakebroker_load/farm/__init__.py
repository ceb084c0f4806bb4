"""The simulation farm: many seeds of the broker's own simulation, distributed to Spark's tasks."""
