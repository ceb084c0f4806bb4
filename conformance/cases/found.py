"""What generated traffic found, shrunk (`conformance/found/*.json`)."""

from __future__ import annotations

from conformance.found import load_all

CASES = load_all()
