"""Who a producer is (producer id and epoch), its sequence numbers, and its transactions."""
