"""The controller's decisions and their effect on brokers: topics, placement, elections, metadata, producer ids."""
