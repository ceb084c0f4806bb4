"""The output of `fakebroker apis`: APIs, versions, and differences from Kafka.

Theory   The page is generated. Versions come from the registry, notes from the docstring of each API's module
         (docs/adding-an-api.md has its form), and Kafka's versions from Kafka's own response. `docs/apis.md` is this
         page; a test compares them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, fill

from fakebroker.apis.registry import Api, load
from fakebroker.commands.kafka_apis import KAFKA_APIS, KAFKA_VERSION, NAMES, NOT_ADVERTISED
from fakebroker.protocol.messages import api_name

COMMAND = "fakebroker apis --markdown"
_PACKAGE = Path(__file__).parents[1]
_SECTION = re.compile(r"^([A-Z][a-z]+(?: [a-z]+)?)  +(?=\S)", re.MULTILINE)
_TOLD = {"Version notes": "Versions", "Not done": "Not done", "Differs": "Differs"}  # sections, and their headings here
_NOTHING = {"", "Nothing."}
_WIDTH = 150


def versions_in_words(lowest: int, highest: int) -> str:
    """Return versions as a table shows them: 3-13, or 0."""
    return f"{lowest}-{highest}" if lowest != highest else str(lowest)


def to_markdown() -> str:
    """Return the page `docs/apis.md`."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    apis = load().values()
    count = f"{sum(api.is_advertised for api in apis)} of the {len(KAFKA_APIS)} APIs"
    yield "# APIs"
    yield ""
    yield f"Made by `{COMMAND} > docs/apis.md` from the registry that answers ApiVersions; not edited by hand."
    yield f"{count} that a broker of Apache Kafka {KAFKA_VERSION} advertises to clients are served."
    yield "The others are not advertised. A client that requests one is disconnected, as by a Kafka without that API."
    silent = " and ".join(api.name for api in apis if not api.is_advertised)
    yield f"{silent} are served and not advertised, as by a Kafka without a reporter for the metrics of clients."
    yield ""
    yield f"| key | API | versions | Kafka {KAFKA_VERSION} | known differences |"
    yield "|---:|---|---|---|---|"
    for api in apis:
        kafkas = versions_in_words(*(KAFKA_APIS | NOT_ADVERTISED)[api.key])
        ours = versions_in_words(api.min_version, api.max_version)
        differs = "yes" if sections(api).keys() & {"Not done", "Differs"} else ""
        yield f"| {api.key} | [{api.name}](#{api.name.lower()}) | {ours} | {kafkas} | {differs} |"
    for api in apis:
        yield ""
        yield f"## {api.name}"
        yield ""
        yield f"Key {api.key}, `{_source(api).relative_to(_PACKAGE.parent).as_posix()}`."
        for name, text in sections(api).items():
            yield ""
            yield fill(f"**{_TOLD[name]}.** {text}", _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield ""
    yield "## Not served"
    yield ""
    missing = [key for key in KAFKA_APIS if key not in load()]
    yield from (f"- {NAMES.get(key) or api_name(key)} ({key})" for key in missing)
    yield ""


def sections(api: Api) -> dict[str, str]:
    """Return the sections on versions and differences in the docstring of the API's module, one line each."""
    docstring = ast.get_docstring(ast.parse(_source(api).read_text(encoding="utf-8"))) or ""
    pieces = _SECTION.split(dedent(docstring))
    texts = {name: " ".join(text.split()) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    return {name: texts[name] for name in _TOLD if texts.get(name, "") not in _NOTHING}


def _source(api: Api) -> Path:
    """Return the source of the module: the compiled one has no docstring."""
    return _PACKAGE.parent / f"{api.handle.__module__.replace('.', '/')}.py"
