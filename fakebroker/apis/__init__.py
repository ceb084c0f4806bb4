"""One file per API key, found by looking (registry.py); `python -m fakebroker.apis.new` begins another."""
