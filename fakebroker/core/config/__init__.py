"""Settings by Kafka's names: their meaning, their valid values, and the code that uses them."""
