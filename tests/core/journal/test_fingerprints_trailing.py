"""Bytes behind a batch, which an append drops, do not trouble the journal's fingerprints."""

from __future__ import annotations

import pytest
from support.batches import keyed

from fakebroker.core.journal.fingerprints import fingerprints
from fakebroker.protocol.compression import Codec


@pytest.mark.parametrize("codec", list(Codec))
def test_bytes_behind_a_batch_are_not_looked_at(codec: Codec) -> None:
    batch = keyed(b"a", b"b", codec=codec)
    assert len(fingerprints(batch)) == 2
    assert fingerprints(batch + b"\0\0\0") == fingerprints(batch)
