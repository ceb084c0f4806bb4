"""The default size of a journal, in a file that the command line can import without the core."""

DEFAULT_SIZE = 100_000  # events
