"""Followers on paused brokers, and the responses that they find when they are resumed."""
