"""The server of a cluster, and its environment: thread, event loop, process, and the files that this may open."""
