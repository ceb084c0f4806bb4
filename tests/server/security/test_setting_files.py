"""Files that a setting of a broker names (server/security/setting_files.py)."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from support.messages import decode_response
from support.ports import free_ports
from support.raw_client import RawClient
from support.requests import request
from support.watchdog import wait_until

from fakebroker import FakeCluster
from fakebroker.core.errors import ConfigError
from fakebroker.server.security.setting_files import read_setting_file

INCREMENTAL_ALTER_CONFIGS, BROKER = 44, 4
MOST_BYTES = 1 << 20
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
NO_FILE = "it is a pipe, a socket or a device, and not a file"


def fifo(folder: Path) -> Path:
    """Return a pipe that nothing writes to. A blocking open would never end."""
    path = folder / "pipe"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("size", [0, 1, MOST_BYTES])
def test_a_file_is_read_whole(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    assert read_setting_file("a.setting", str(path)) == b"x" * size


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert read_setting_file("a.setting", tmp_path / "link") == b"x"


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    path = fifo(tmp_path)
    with pytest.raises(ConfigError, match=f"^a.setting: {path} cannot be read: {NO_FILE}$"):
        read_setting_file("a.setting", path)


def test_a_file_that_becomes_a_pipe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fifo(tmp_path)
    (tmp_path / "file").write_bytes(b"x")
    of_file = os.stat(tmp_path / "file")
    monkeypatch.setattr(os, "stat", lambda path: of_file)
    with pytest.raises(ConfigError, match=NO_FILE):
        read_setting_file("a.setting", path)


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket has at most about 100 characters
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        with pytest.raises(ConfigError, match=NO_FILE):
            read_setting_file("a.setting", "socket")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/dev/zero", NO_FILE),
        ("/dev/tty", NO_FILE),
        ("/", "it is a directory"),
        ("/nowhere", "No such file or directory"),
        ("a\0b", "embedded null byte"),
        ("/\ud800", "surrogates not allowed"),
    ],
)
def test_what_is_no_file_is_refused(path: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refused:
        read_setting_file("a.setting", path)
    assert str(refused.value).isprintable()


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, 1 << 40)  # it needs no space, and would not fit into the memory
    with pytest.raises(ConfigError, match=f"{path} cannot be read: it has more than {MOST_BYTES} bytes"):
        read_setting_file("a.setting", path)


@pytest.mark.parametrize("setting", ["keystore", "truststore", "keys of tokens"])
def test_a_pipe_that_a_client_names_for_a_listener_stalls_no_other_client(
    setting: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, port = fifo(tmp_path), free_ports(1)
    if setting == "keys of tokens":
        protocol, mechanism = "SASL_PLAINTEXT", "listener.name.out.oauthbearer.sasl."
        values = {
            f"{mechanism}server.callback.handler.class": HANDLER,
            f"{mechanism}oauthbearer.jwks.endpoint.url": path.as_uri(),
        }
    else:
        protocol, values = "SSL", {f"listener.name.out.ssl.{setting}.location": str(path)}
    with FakeCluster(brokers=1) as kafka:
        endpoint = kafka.brokers[1].endpoint
        values |= {
            "listeners": f"PLAINTEXT://{endpoint.host}:{endpoint.port},OUT://127.0.0.1:{port}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,OUT:{protocol}",
        }
        configs = [{"name": name, "config_operation": 0, "value": value} for name, value in values.items()]
        with RawClient(endpoint) as client:
            resource = {"resource_type": BROKER, "resource_name": "1", "configs": configs}
            answered = client.ask(request(INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]}))
            _, answer = decode_response(INCREMENTAL_ALTER_CONFIGS, 1, answered)
        assert answer.responses[0].error_code == 0
        wait_until(lambda: "Unable to start acceptor for OUT of broker 1" in caplog.text, "the error")
        kafka.create_topic("t")
    assert f"{path} cannot be read: {NO_FILE}" in caplog.text
