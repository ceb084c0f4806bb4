"""What is served: one file for each API key, with its behaviour in every version and its handler."""
