"""Records out, and where they are: fetches and offsets."""
