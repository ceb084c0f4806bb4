"""The model: what a broker, a partition, a coordinator is and does. Time is an argument, and no network is known."""
