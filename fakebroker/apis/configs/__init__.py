"""APIs of settings, quotas and telemetry."""
