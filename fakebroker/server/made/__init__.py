"""What a cluster is made of: arguments of programs, options, settings."""
