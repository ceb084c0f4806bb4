"""What is served: one file for each API key, with its behaviour in every version and its handler, found by looking.

`python -m fakebroker.apis.new` begins another.
"""
