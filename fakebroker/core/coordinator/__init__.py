"""Coordinators: state machines whose every change is a record of an internal, replicated topic."""
