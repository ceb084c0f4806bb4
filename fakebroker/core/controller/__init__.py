"""What the controller decides and every broker is told: topics, placement, elections, metadata, producer ids."""
