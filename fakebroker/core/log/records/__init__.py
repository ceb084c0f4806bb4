"""The records of a batch as a stream: where they come from, what is asked of each, and how they are written anew."""
