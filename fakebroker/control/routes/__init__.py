"""The paths below /v1, by subject. Each file has a `router`; `app.py` puts them together."""
