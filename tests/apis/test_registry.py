"""Rules for each API and version that is served; the tests name none."""

from __future__ import annotations

import ast
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import doses
from support.any_request import requests, served
from support.handling import received
from support.messages import decode_response
from support.requests import API_VERSIONS, api_versions
from support.simulation import SimulatedClient, Simulation

from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.errors import reads
from fakebroker.network.effects import Send
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import encode_request, response_type, versions
from fakebroker.protocol.slices import finish

ROOT = Path(registry.__file__).parents[2]
APIS = registry.load()
SERVED = [pytest.param(api, version, id=f"{api.name} v{version}") for api, version in served()]
"""The first and the last version of each API run every day; golden transcripts have those between."""
ENDS = [
    case for case, (api, version) in zip(SERVED, served(), strict=True) if version in (api.min_version, api.max_version)
]
LONGEST_WAIT_MS = 1000
NOTHING, NO_ERRORS = nothing("a test"), reads("", "")


def simulation() -> tuple[Simulation, SimulatedClient]:
    running = Simulation()
    running.topic("t", partitions=2)
    return running, running.connect()


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_exactly_what_is_served(version: int) -> None:
    _, client = simulation()
    client.send(api_versions(version))

    _, answer = decode_response(API_VERSIONS, version, client.answers[0][1])
    listed = [(entry.api_key, entry.min_version, entry.max_version) for entry in answer.api_keys]
    # Produce is listed from v0, because old librdkafka decides by it (apis/produce/produce.py).
    assert listed == [
        (api.key, 0 if api.name == "Produce" else api.min_version, api.max_version)
        for api in APIS.values()
        if api.is_advertised
    ]


def test_nothing_is_served_that_cannot_be_read() -> None:
    for api in APIS.values():
        assert set(range(api.min_version, api.max_version + 1)) <= set(versions(api.key))


@pytest.mark.parametrize(("api", "version"), doses.nightly_but(ENDS, SERVED))
@settings(max_examples=doses.count(2, 15))
@given(data=st.data())
def test_a_request_gets_one_answer_of_its_version(api: registry.Api, version: int, data: st.DataObject) -> None:
    running, client = simulation()
    message = data.draw(requests(api.key, version))
    client.send(encode_request(message, 4711, "test"))
    running.advance(LONGEST_WAIT_MS)

    if getattr(message, "acks", 1) == 0:
        assert client.answers == []
        return
    ((_, frame),) = client.answers
    correlation_id, _ = decode_response(api.key, version, frame)
    assert correlation_id == 4711
    assert client.closed is None


@pytest.mark.parametrize(("api", "version"), doses.nightly_but(ENDS, SERVED))
@settings(max_examples=doses.count(2, 8))
@given(data=st.data())
def test_an_error_can_be_answered_to_any_request(api: registry.Api, version: int, data: st.DataObject) -> None:
    running, _ = simulation()
    frame = encode_request(data.draw(requests(api.key, version)), 4711, None)[4:]
    _, context, message = received(running, frame)
    slices = api.error_response(context, message, ErrorCode.unknown_server_error)
    if slices is not None:
        finish(slices)

    assert context.answered
    if getattr(message, "acks", 1) != 0:
        [effect] = running.cluster.take_effects()
        assert isinstance(effect, Send)
        assert decode_response(api.key, version, effect.data[4:])[0] == 4711


def field_names(kind: Any) -> set[str]:
    """Return the names of all fields of a message, those of its structs included."""
    names = set()
    hints = get_type_hints(kind)
    for field in fields(kind):
        names.add(field.name)
        for nested in structs_in(hints[field.name]):
            names |= field_names(nested)
    return names


def structs_in(hint: Any) -> list[Any]:
    if isinstance(hint, type) and is_dataclass(hint):
        return [hint]
    return [struct for argument in get_args(hint) for struct in structs_in(argument)]


def keywords_of_respond(tree: ast.Module) -> set[str]:
    """Return the keywords of calls of `_respond(ctx, **values)`; none if it has its own parameters."""
    open_ended = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.args.kwarg is not None}
    return {
        keyword.arg
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in open_ended & {"_respond"}
        for keyword in call.keywords
        if keyword.arg is not None
    }


def test_a_slip_in_a_keyword_is_seen() -> None:
    call = "_respond(ctx, clutser_id=1, **more)"
    assert keywords_of_respond(ast.parse(f"def _respond(ctx, **values): ...\n{call}")) == {"clutser_id"}
    assert keywords_of_respond(ast.parse(f"def _respond(ctx, clutser_id): ...\n{call}")) == set()


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_name_a_handler_builds_with_is_a_field_of_some_version(api: registry.Api) -> None:
    source = (ROOT / f"{api.handle.__module__.replace('.', '/')}.py").read_text()
    known = set().union(*(field_names(response_type(api.key, version)) for version in versions(api.key)))
    tree = ast.parse(source)
    # Every dict that an API's module writes down is handed to `build`, and so is what `_respond` takes by any name.
    written = {
        key.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    assert written | keywords_of_respond(tree) <= known


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_an_api_is_registered_once(api: registry.Api) -> None:
    with pytest.raises(ValueError, match=f"API key {api.key} is registered twice"):
        registry.api(
            api.key,
            api.min_version,
            api.max_version,
            errors=api.errors,
            authorization=api.authorization,
            error_response=api.error_response,
        )


@pytest.mark.parametrize(("lowest", "highest"), [(2, 1), (0, 99), (-1, 0)])
def test_unknown_versions_are_not_registered(lowest: int, highest: int) -> None:
    with pytest.raises(ValueError, match="Vote cannot be served as"):
        registry.api(52, lowest, highest, authorization=NOTHING, errors=NO_ERRORS, error_response=lambda *_: None)


def test_an_unknown_key_is_not_registered() -> None:
    with pytest.raises(ValueError, match=r"UNKNOWN\(999\) cannot be served"):
        registry.api(999, 0, 0, authorization=NOTHING, errors=NO_ERRORS, error_response=lambda *_: None)


def test_an_api_without_a_declared_authorization_is_not_registered() -> None:
    register: Any = registry.api
    with pytest.raises(TypeError, match="authorization"):
        register(52, 0, 0, errors=NO_ERRORS, error_response=lambda *_: None)


def test_what_was_refused_is_not_listed() -> None:
    assert set(registry.load()) == set(APIS)
