"""toxiproxy's API with hostile calls (support/hostile.py): it can list and delete all that it accepts."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support import doses
from support.hostile import PYTHONS, Call, Operation, calls, check_is_json, in_path
from support.serving import Serving
from support.watchdog import LIMIT_S

from fakebroker.control.toxiproxy.toxics import ATTRIBUTES


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with Serving("--port", "0", "--toxiproxy-port", "0", "--no-control") as running:
        yield running


TEXT = {"type": "string"}
ADDRESS = {"anyOf": [{"enum": ["localhost:0", "127.0.0.1:0"]}, TEXT]}
PROXY = {
    "type": "object",
    "properties": {"name": TEXT, "listen": ADDRESS, "upstream": ADDRESS, "enabled": {"type": "boolean"}},
    "required": ["name", "upstream"],
}
TOXIC = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "type": {"enum": list(ATTRIBUTES)},
        "stream": {"enum": ["upstream", "downstream"]},
        "toxicity": {"type": "number"},
        "attributes": {
            "type": "object",
            "properties": {name: {"type": "integer"} for names in ATTRIBUTES.values() for name in names},
        },
    },
    "required": ["type"],
}
ONE, ITS_TOXIC = {"proxy": {"enum": ["kafka1", "mine", "t"]}}, {"toxic": {"enum": ["latency_downstream", "t"]}}
HOSTILE = [
    Operation("GET", "/proxies"),
    Operation("POST", "/proxies", PROXY),
    Operation("POST", "/populate", {"type": "array", "items": PROXY}),
    Operation("GET", "/proxies/{proxy}", None, ONE),
    Operation("POST", "/proxies/{proxy}", PROXY, ONE),
    Operation("PATCH", "/proxies/{proxy}", PROXY, ONE),
    Operation("GET", "/proxies/{proxy}/toxics", None, ONE),
    Operation("POST", "/proxies/{proxy}/toxics", TOXIC, ONE),
    *(
        Operation(method, "/proxies/{proxy}/toxics/{toxic}", body, ONE | ITS_TOXIC)
        for method, body in (("GET", None), ("POST", TOXIC), ("PATCH", TOXIC), ("DELETE", None))
    ),
    Operation("POST", "/reset"),
]


@given(drawn=st.lists(calls(HOSTILE), min_size=3, max_size=12))
@settings(suppress_health_check=list(HealthCheck), max_examples=doses.count(8, 500))
@example(drawn=[Call("POST", "/proxies", {"name": "\ud800", "upstream": "a:1"}, True)])
@example(drawn=[Call("POST", "/proxies", {"name": "a/b", "upstream": "a:1"}, True)])
@example(drawn=[Call("POST", "/proxies", {"name": "a", "upstream": "a:" + "9" * 5_000}, True)])
@example(drawn=[Call("POST", "/proxies", {"name": "a", "upstream": "a:1", "listen": "x" * 300 + ":1"}, True)])
@example(drawn=[Call("POST", "/proxies/kafka1/toxics", {"name": "\udfff", "type": "latency"}, True)])
@example(drawn=[Call("POST", "/proxies/kafka1/toxics", {"name": "a/b", "type": "latency"}, True)])
@example(drawn=[Call("GET", "/proxies", header=(b"Origin", b"http://["))])
def test_hostile_calls_are_refused_in_words_and_what_was_made_can_be_deleted(
    serving: Serving, drawn: list[Call]
) -> None:
    with httpx.Client(base_url=serving.facts["toxiproxy_url"], timeout=LIMIT_S, trust_env=False, verify=False) as http:
        for call in drawn:
            answer = call.on(http)
            if answer.content:
                refusal = check_is_json(answer)
                if answer.status_code >= 400:
                    said = refusal["error"] if isinstance(refusal["error"], str) else refusal["error"]["message"]
                    assert not PYTHONS.search(said), said
                    assert answer.status_code < 500 or said.startswith("listen tcp "), said
        for name, proxy in check_is_json(http.get("/proxies")).items():
            one = f"/proxies/{in_path(name)}"
            assert http.get(one).json() == proxy
            for toxic in proxy["toxics"]:
                assert http.delete(f"{one}/toxics/{in_path(toxic['name'])}").status_code == 204
            if not name.startswith("kafka"):
                assert http.delete(one).status_code == 204
        first = check_is_json(http.get("/proxies"))
        assert not any(proxy["toxics"] for proxy in first.values())
