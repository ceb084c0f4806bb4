"""Transactional producers and readers in virtual time, and the judge of their reports."""
