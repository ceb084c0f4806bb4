"""docs/apis.md: all that is served, made from what serves it."""

from __future__ import annotations

import re
from pathlib import Path

from support.messages import decode_response

from conformance.transcripts.golden import FOLDER
from conformance.transcripts.golden import load as load_answers
from conformance.transcripts.recording import Heard
from fakebroker.apis.registry import load
from fakebroker.commands.apis_page import COMMAND, sections, to_markdown
from fakebroker.commands.kafka_apis import KAFKA_APIS, NAMES
from fakebroker.protocol.messages import api_name

PAGE = Path(__file__).parents[2] / "docs" / "apis.md"
API_VERSIONS = 18


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text() == to_markdown(), f"make it again: {COMMAND} > docs/apis.md"


def test_it_has_every_api_with_its_versions() -> None:
    rows = re.findall(r"^\| (\d+) \| \[(\w+)\]\(#\w+\) \| (\d+)(?:-(\d+))? \|", to_markdown(), re.MULTILINE)
    assert [(int(key), name, int(low), int(high or low)) for key, name, low, high in rows] == [
        (api.key, api.name, api.min_version, api.max_version) for api in load().values()
    ]


def test_it_tells_what_is_not_done_of_each() -> None:
    produce, offsets = load()[0], load()[23]
    assert sections(load()[10])["Not done"].startswith("Share groups (key type 2)")
    assert "v13 topic ids" in sections(produce)["Version notes"]
    assert "Not done" not in sections(offsets)
    for api in load().values():
        if api.max_version:
            assert "Version notes" in sections(api), f"the docstring of {api.handle.__module__}"


def test_what_kafka_serves_is_what_kafka_said() -> None:
    [golden] = [
        answer_ for answer_ in load_answers(FOLDER / "handshake.txt") if answer_.case == "handshake/api-versions-v4"
    ]
    [heard] = [entry for entry in golden.kafka if isinstance(entry, Heard)]
    _, answer = decode_response(API_VERSIONS, 4, heard.answers[0].frame)
    versions = {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}
    assert versions == KAFKA_APIS
    assert {key for key in versions if api_name(key).startswith("UNKNOWN")} == set(NAMES)
