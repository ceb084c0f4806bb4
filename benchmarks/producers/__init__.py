"""Producers beside a simulated cluster, and a thousand of them for a day."""
