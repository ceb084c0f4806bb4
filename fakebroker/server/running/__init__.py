"""The environment of a cluster: its thread, its event loop, its process, and the files that this may open."""
