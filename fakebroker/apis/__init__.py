"""The served APIs: one file for each API key, with its behaviour in every version and its handler. Files are
discovered, not listed.

`python -m fakebroker.apis.new` creates another one.
"""
