"""Settings by Kafka's names: what each means, what it may be, and who acts on it."""
