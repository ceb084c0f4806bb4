"""What is sent, and what has to come back: scenarios, read from YAML."""
