"""Transactional producers and their readers in virtual time, and the judge of what they saw."""
