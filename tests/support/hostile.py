"""Odd input of a client: strings that no UTF-8 has, numbers of thousands of digits, odd headers.

Shape    `values(schema)` draws a value of a JSON schema in which any part may be something else; `encode` writes it as
         JSON. `HEADERS` are headers of a request, as bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
from hypothesis import strategies as st

_DIGITS = "@digits:"  # begins the string that stands for a number too long for `json.dumps`
_RAW = re.compile(f'"{_DIGITS}([^"]+)"')

TEXTS = st.sampled_from(
    [
        *("\ud800", "a\udfff", "\udc80b", "\ud83d\ude00\ud83d"),
        *("", " ", ".", "..", "/", "a/b", "a?b#c", "%2F", "\0", "a\nb", "é" * 150, "x" * 300, "x" * 1_000, "x" * 1_001),
        *("-1", "0", "1" * 400, "9" * 5_000, "1e9", "1e400", "NaN", "١", "²", "0x10", "true", "null", "<default>"),
        *("lagging:", "lagging:-1", "lagging:" + "9" * 900, "throttled:x", "every_time", "REQUEST_TIMED_OUT"),
        *("localhost:0", "localhost:" + "9" * 5_000, "x" * 300 + ":1", "a..b:1", "[:1", "\0:1", "t", "kafka1"),
    ]
)
NUMBERS = st.sampled_from(
    [
        *(-1, 0, 1, 2, 1.5, -0.0, 1e308, 2**31, 2**53 + 1, 2**63, -(2**63) - 1),
        *(_DIGITS + "9" * 400, _DIGITS + "9" * 5_000, _DIGITS + "1e999", _DIGITS + "NaN", _DIGITS + "-Infinity"),
    ]
)
LEAVES = TEXTS | NUMBERS | st.none() | st.booleans()
ANY = LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(TEXTS, LEAVES, max_size=2)
HEADERS = st.sampled_from(
    [
        *(
            (b"Origin", value)
            for value in (b"http://[", b"http://", b"null", b"\xff", b"http://localhost:" + b"9" * 5_000)
        ),
        *(
            (b"Host", value)
            for value in (b"[", b"[::1", b"localhost:" + b"9" * 5_000, b"x" * 300, b"a@localhost", b"\xff")
        ),
        *((b"Last-Event-ID", value) for value in (b"\xb2", b"9" * 5_000, b"-1")),
        *(
            (b"Content-Type", value)
            for value in (b"\xff", b"application/json; charset=no-such", b"multipart/form-data")
        ),
        *((b"Authorization", value) for value in (b"Bearer \xff", b"\xff")),
        (b"Accept-Encoding", b"\xff"),
    ]
)


def values(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Draw values of a schema; `schemas` are those that it refers to. One part in twelve is anything."""
    return st.integers(0, 11).flatmap(lambda number: ANY if number == 11 else _meant(schema, schemas))


def _meant(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _meant(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if "anyOf" in schema:
        return st.one_of([values(alternative, schemas) for alternative in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    match schema.get("type"):
        case "object" if "properties" in schema:
            return _members(schema, schemas)
        case "object":
            of_values = schema.get("additionalProperties")
            return st.dictionaries(
                TEXTS, values(of_values, schemas) if isinstance(of_values, dict) else ANY, max_size=2
            )
        case "array":
            items = [values(item, schemas) for item in schema.get("prefixItems", ())]
            return st.tuples(*items) if items else st.lists(values(schema.get("items", {}), schemas), max_size=2)
        case "integer":
            least = schema.get("minimum", 0)
            return st.integers(least, min(schema.get("maximum", least + 3), least + 3))
        case "number":
            return st.sampled_from([0.5, 1])
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "string":
            return st.sampled_from(["t", "u", "once", "Produce", "frozen", "NONE"]) | TEXTS
        case _:
            return ANY


def _members(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    required = schema.get("required", ())
    members = {name: values(member, schemas) for name, member in schema["properties"].items()}
    return st.fixed_dictionaries(
        {name: member for name, member in members.items() if name in required},
        optional={name: member for name, member in members.items() if name not in required},
    )


def encode(value: Any) -> bytes:
    """Return the value as JSON, lone surrogates as escapes."""
    return _RAW.sub(r"\1", json.dumps(value)).encode()


def in_path(text: object) -> str:
    """A part of a path or a query, escaped; what no UTF-8 has as the bytes that it would have."""
    raw = text if isinstance(text, str) else json.dumps(text)
    return quote(raw.removeprefix(_DIGITS).encode("utf-8", "surrogatepass"), safe="")


# Words that Python has for its programmers, and no client knows.
PYTHONS = re.compile(
    r"literal for|codec|base 10|NoneType|unhashable|object (is|has|cannot)|positional|Traceback"
    r"|not supported between|Exceeds the limit|must be (str|int|bytes|a real)|has no attribute|too large to convert"
)


@dataclass
class Call:
    """A request: `path` is escaped, `body` any value."""

    method: str
    path: str
    body: Any = None
    has_body: bool = False
    header: tuple[bytes, bytes] | None = None

    def __repr__(self) -> str:
        return f"Call({self.method!r}, {self.path!r}, {self.body!a}, {self.has_body}, {self.header})"

    def on(self, http: httpx.Client) -> httpx.Response:
        content = encode(self.body) if self.has_body else None
        return http.request(self.method, self.path, content=content, headers=[self.header] if self.header else None)


@st.composite
def calls(draw: st.DrawFn, operations: Sequence[Operation]) -> Call:
    """Draw a call. One in eight has a header that no one sends."""
    operation = draw(st.sampled_from(operations))
    path = operation.path
    for name, schema in operation.in_path.items():
        path = path.replace(f"{{{name}}}", in_path(draw(values(schema, operation.schemas))))
    query = draw(_members({"properties": operation.in_query}, operation.schemas))
    if query:
        path += "?" + "&".join(f"{name}={in_path(value)}" for name, value in query.items())
    header = draw(HEADERS) if draw(st.integers(0, 7)) == 7 else None
    if operation.body is None:
        return Call(operation.method, path, header=header)
    return Call(operation.method, path, draw(values(operation.body, operation.schemas)), True, header)


@dataclass
class Operation:
    """An operation of the API: schemas of the parameters by name, and of the body."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    in_path: Mapping[str, Any] = field(default_factory=dict)
    in_query: Mapping[str, Any] = field(default_factory=dict)
    schemas: Mapping[str, Any] = field(default_factory=dict)


def check_is_json(answer: httpx.Response) -> Any:
    """Return the value of an answer that any client can read."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(answer.content.decode(), parse_constant=refuse)
