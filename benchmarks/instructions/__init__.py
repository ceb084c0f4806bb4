"""Instructions instead of seconds: the fixed work, and how valgrind counts what it takes."""
