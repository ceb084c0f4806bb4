"""What happened, as events in order: kept, written as lines, asked by tests."""
