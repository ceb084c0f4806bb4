"""Coordinators: state machines, each change of which is a record of an internal, replicated topic."""
