"""The model: brokers, partitions, coordinators. Time is an argument, and the model knows no network."""
