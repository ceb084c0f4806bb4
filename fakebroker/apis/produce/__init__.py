"""APIs for writing records: Produce and InitProducerId."""
