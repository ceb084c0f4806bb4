"""What is written for somebody outside: log, journal, ready line, ready file. Nobody waits until that is read."""
