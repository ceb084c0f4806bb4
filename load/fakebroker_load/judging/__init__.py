"""Judging each request in Spark SQL: by its response and the log, and by the broker's journal."""
