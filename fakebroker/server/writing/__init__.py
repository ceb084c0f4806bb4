"""Output of the process: log, journal, ready line, ready file. A slow or absent reader never blocks the cluster."""
