"""What a producer does, as events in order: a listener hears of it, a journal keeps it, an event is a line of JSON."""
