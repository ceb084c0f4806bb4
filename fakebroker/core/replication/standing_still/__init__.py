"""Followers that stand still: what they find when they go on."""
