"""The harness behind a listener with TLS, and what it is told by clusters that make their own tokens."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.virtual_target import VirtualTarget

from conformance import frames
from conformance.frames import request
from conformance.sasl.token_ids import TokenIds, token_hmac, token_id
from conformance.scenario import Send
from conformance.security.user_steps import login
from conformance.targets.boxes import BOXES, Box
from conformance.targets.target import FakeTarget, ask
from conformance.targets.tls import BoxCertificates
from conformance.targets.wire import Sent, SocketConnection

pytest.importorskip("cryptography", reason="the extra security is not installed")

CREATE = 38


@pytest.mark.slow
def test_a_connection_with_tls_is_read_and_written_like_another_one() -> None:
    target = FakeTarget(Box(1, {}, listeners=("SSL",)))
    target.start()
    try:
        connection, plain = target.connect(1, listener="SSL"), target.connect(1)
        versions = {len(ask(connection, target, 18, 3, frames.api_versions()).api_keys) for _ in range(3)}
        ports = [ask(connection, target, 3, 12, frames.metadata(None)).brokers[0].port for _ in range(3)]
        assert versions == {len(ask(plain, target, 18, 3, frames.api_versions()).api_keys)}
        assert set(ports) == {target.others["SSL", 1][1]}
        connection.close()
        plain.close()
        with pytest.raises(OSError):
            SocketConnection(target.endpoints[1], ca=target.ca)
    finally:
        target.stop()


def test_only_listeners_with_tls_get_a_certificate(tmp_path: Path) -> None:
    certificates = BoxCertificates(tmp_path, ["SASL_SSL", "SASL_PLAINTEXT"])
    assert certificates.ca is not None
    assert certificates.ca.exists()
    assert {name.split(".")[2] for name in certificates.settings} == {"sasl_ssl"}


def test_a_box_without_tls_needs_no_certificates(tmp_path: Path) -> None:
    certificates = BoxCertificates(tmp_path, ["SASL_PLAINTEXT"])
    assert (certificates.ca, certificates.settings, list(tmp_path.iterdir())) == (None, {}, [])


def test_tokens_have_stand_ins_in_both_directions() -> None:
    target, ids = VirtualTarget(BOXES["users"]), TokenIds()
    connection = target.connect(1, listener="SASL_SSL")
    [sends, _] = login("alice", "a")
    assert isinstance(sends, Send)
    connection.send(b"".join(sends.frames))
    values: dict[str, Any] = {"owner_principal_type": None, "renewers": [], "max_lifetime": timedelta(days=1)}
    made = []
    for number in (1, 2):
        connection.send(request(CREATE, 3, values, 2 + number))
        connection.wait(1 + number, target.now_s() + 1)
        made.append(connection.arrivals[-1].frame)

    replaced = [ids.stand_ins(Sent(CREATE, 3), frame) for frame in made]

    for number, (frame, real) in enumerate(zip(replaced, made, strict=True), 1):
        assert token_id(number).encode() in frame
        assert token_hmac(number) in frame
        assert ids.real(frame) == real
        assert ids.stand_ins(None, real) == frame
