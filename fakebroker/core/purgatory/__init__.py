"""Waiting: delayed operations, the keys that wake them, and the deadlines of everything that has one."""
