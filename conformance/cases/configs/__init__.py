"""Settings and quotas, and what there is of security and telemetry."""
