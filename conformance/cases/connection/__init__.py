"""A connection before any API: ApiVersions, and frames that are none."""
