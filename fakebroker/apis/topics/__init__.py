"""APIs of topics: created, deleted."""
