"""The asyncio shell around the core: sockets, the OS clock, threads."""
