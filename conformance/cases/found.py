"""Cases that generated traffic found, shrunk (`conformance/generated/found/*.txt`)."""

from __future__ import annotations

from conformance.generated.found import load_all

CASES = load_all()
