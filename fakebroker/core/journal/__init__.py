"""Events in the order in which they happened: kept, written as lines, and queried by tests."""
