"""How batches are compressed, and how small they are expected to be."""
