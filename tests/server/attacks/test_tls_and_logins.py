"""Handshakes of TLS that never end or are nonsense, logins without end, and secured clients that do not read."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from contextlib import suppress

import pytest
from support import doses
from support.requests import produce, request
from support.under_attack import UnderAttack, hold
from support.watchdog import LIMIT_S

from benchmarks.neighbours import hostile

pytest.importorskip("cryptography", reason="the extra security is not installed")

MIB = 1 << 20
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'


def hello() -> bytes:
    """Return the first message of a client's handshake."""
    outgoing = ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def record(content: bytes) -> bytes:
    return b"\x16\x03\x01" + len(content).to_bytes(2, "big") + content


ENDLESS = record(b"\x01\xff\xff\xff" + bytes(16_000)) + record(bytes(16_000)) * 100


@pytest.mark.slow
@pytest.mark.parametrize("sent", doses.nightly_but(["nothing", "all"], ["nothing", "the beginning", "all"]))
def test_handshakes_that_never_end(sent: str) -> None:
    """A silent connection takes 13 KB, the state of OpenSSL some 40 more."""
    connections = doses.count(500, 8_000)
    message = {"nothing": b"", "the beginning": hello()[:100], "all": hello()}[sent]
    room = {"nothing": 16, "the beginning": 64, "all": 96}[sent] * 1024 * connections / MIB
    hold(message, connections=connections, memory_mib=16 + room, listener="SSL", once=True)


# At night too: two more that end as HTTP does, at their first record.
NONSENSE = [ENDLESS, hello() * 3, b"GET / HTTP/1.1\r\n\r\n" * 100, bytes(MIB), record(b"\x02" * 16_000)]


@pytest.mark.parametrize(
    "data",
    doses.nightly_after(3, NONSENSE),
    ids=["a message of 16 MiB", "three hellos", "HTTP", "zeros", "a server's hello"],
)
def test_nonsense_in_place_of_a_handshake(data: bytes) -> None:
    hold(data, connections=50, memory_mib=32, listener="SSL")


@pytest.mark.slow
def test_secured_clients_that_fetch_55_mib_and_do_not_read() -> None:
    fill = [produce("busy", acks=1, records=hostile.plain_batch(1_000_000))] * 56
    fetch = hostile.fetch_much("busy", 64 * MIB)
    hold(
        fetch,
        "busy:1:1",
        memory_mib=128,
        connections=30,
        target="busy",
        listener="SSL",
        secured=True,
        fill=fill,
        reads=False,
        once=True,
    )


@pytest.mark.slow
def test_logins_with_a_wrong_password() -> None:
    """The delay of failures holds the connections of those clients open."""
    login = request(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
    login += request(SASL_AUTHENTICATE, 2, {"auth_bytes": b"\0alice\0wrong"})
    setting = f"listener.name.sasl_plaintext.plain.sasl.jaas.config={JAAS}"
    hold(login, connections=300, memory_mib=32, listener="SASL_PLAINTEXT", arguments=["--config", setting])


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not there")
def test_a_client_may_not_negotiate_again() -> None:
    """OpenSSL's own client asks for it with the letter R. TLS 1.3 has no renegotiation."""
    with UnderAttack(listener="SSL") as broker:
        address = broker.facts["listeners"]["SSL"]
        command = ["openssl", "s_client", "-connect", address, "-tls1_2", "-CAfile", broker.facts["ca"]]
        done = subprocess.run(command, input="R\n", capture_output=True, text=True, timeout=LIMIT_S, check=False)
        broker.assert_serves_on()
    assert "RENEGOTIATING" in done.stdout + done.stderr
    assert "no renegotiation" in done.stderr
