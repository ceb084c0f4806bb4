"""The records of a batch as a stream: their source, the checks of each, and their rewriting."""
