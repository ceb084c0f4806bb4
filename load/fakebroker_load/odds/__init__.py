"""The durability calculator: how often records are lost, doubled or refused, by many trials in Spark's tasks."""
