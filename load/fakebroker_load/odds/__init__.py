"""The durability calculator: how often records are lost, duplicated or refused, by many trials in Spark's tasks."""
