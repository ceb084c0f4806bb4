"""What is wrong with each request, in Spark SQL: by its answer and the log, and by what the broker's journal says."""
