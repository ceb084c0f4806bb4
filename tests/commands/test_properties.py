"""A file of Java properties, and the server.properties of Kafka (commands/properties.py)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.commands.command_line import Slip
from fakebroker.commands.properties import PropertiesError, parse_properties, server_settings


def read(text: str) -> list[tuple[str, str]]:
    return [(entry.name, entry.value) for entry in parse_properties(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=1\nb:2\nc 3\nd\t4\n", [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]),
        ("  a = 1 ", [("a", "1 ")]),  # blanks behind a value are the value's
        ("a : = 1", [("a", "= 1")]),
        ("a==1", [("a", "=1")]),
        ("a\nb=\n=c", [("a", ""), ("b", ""), ("", "c")]),
        ("# no\n  ! no\n\n \t\n#a=1\\\nb=2", [("b", "2")]),  # a comment is not continued
        ("a=1\\\n   2,\\\n   3\nb=4", [("a", "12,3"), ("b", "4")]),
        ("a=1\\\\\nb=2", [("a", "1\\"), ("b", "2")]),  # an escaped backslash continues nothing
        ("a=1\\\n# 2", [("a", "1# 2")]),
        ("a=1\\", [("a", "1")]),
        ("a\\=b\\:c\\ d = 1", [("a=b:c d", "1")]),
        ("a=\\t\\n\\r\\f\\z\\\\", [("a", "\t\n\r\fz\\")]),
        ("a=\\u00e9\\u20AC", [("a", "\u00e9\u20ac")]),
        ("a=\\ud83d\\ude00", [("a", "\U0001f600")]),
        ("a=1\r\nb=2\rc=3", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("a=1\na=2", [("a", "1"), ("a", "2")]),
        ("", []),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, found: list[tuple[str, str]]) -> None:
    assert read(text) == found


def test_lines_are_counted_from_where_a_property_begins() -> None:
    text = "# one\na=1\\\n  2\n\nb=3\n"
    assert [entry.line for entry in parse_properties(text)] == [2, 5]


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\u12g4", "\\u=1", "a=\\u+123", "a=\\u 123"])
def test_an_escape_of_no_character_is_malformed(text: str) -> None:
    with pytest.raises(PropertiesError, match=r"Malformed \\uxxxx encoding") as raised:
        read(f"\n{text}")
    assert raised.value.line == 2


@given(st.text())
def test_any_text_is_read_or_malformed(text: str) -> None:
    with suppress(PropertiesError):
        read(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_escaped_is_itself(value: str) -> None:
    units = value.encode("utf-16-be")
    escaped = "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
    assert read(f"a={escaped}") == [("a", value)]


# A server.properties.


def settings(folder: Path, data: bytes) -> tuple[dict[str, str], list[str]]:
    path = folder / "server.properties"
    path.write_bytes(data)
    return server_settings(path)


def test_settings_are_kept_and_unknown_names_are_logged(tmp_path: Path) -> None:
    data = b"num.partitions=3\nzookeeper.connect=localhost:2181\nnum.partitions=4\nlog.dirs=/tmp/a,/tmp/b\n"
    assert settings(tmp_path, data) == ({"num.partitions": "4", "log.dirs": "/tmp/a,/tmp/b"}, ["zookeeper.connect"])


@pytest.mark.parametrize(
    "data", ["broker.rack=h\u00f6hle".encode(), b"broker.rack=h\xf6hle", b"\xef\xbb\xbfbroker.rack=h\\u00f6hle"]
)
def test_utf_8_and_latin_1_are_read(tmp_path: Path, data: bytes) -> None:
    assert settings(tmp_path, data)[0] == {"broker.rack": "h\u00f6hle"}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            b"# no\nnum.partitions=x\n",
            r"line 2: Invalid value x for configuration num\.partitions: Not a number of type INT",
        ),
        (b"a=1\nb=\\u00\n", r"line 2: Malformed \\uxxxx encoding: \\u00"),
        (b"listeners=9092", "line 1: Error creating broker listeners from '.9092.': Unable to parse 9092 to a broker"),
        (b"listeners=", "line 1: Configuration 'listeners' must not be empty"),
        (b"\nprocess.roles=boss", "line 2: Invalid value boss for configuration process.roles"),
        (b"controller.quorum.voters=1@localhost", "line 1: Invalid configuration value for controller.quorum.voters"),
        (b"listener.security.protocol.map=PLAINTEXT", "line 1: Error parsing listener.security.protocol.map"),
    ],
)
def test_a_bad_value_is_told_with_file_and_line(tmp_path: Path, data: bytes, sentence: str) -> None:
    with pytest.raises(Slip, match=f"^--properties {tmp_path}/server.properties, {sentence}"):
        settings(tmp_path, data)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(Slip, match=rf"^--properties {tmp_path}/none: No such file or directory$"):
        server_settings(tmp_path / "none")
    with pytest.raises(Slip, match=rf"^--properties {tmp_path}: Is a directory$"):
        server_settings(tmp_path)
