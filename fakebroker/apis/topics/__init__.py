"""Topics: made, altered, deleted."""
