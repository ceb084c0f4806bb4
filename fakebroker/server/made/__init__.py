"""The definition of a cluster: arguments of programs, options, settings."""
