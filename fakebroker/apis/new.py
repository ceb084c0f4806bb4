"""`python -m fakebroker.apis.new KEY_OR_NAME`: create the three files of an API that is not served yet, as stubs.

The handler, its test and its conformance case say "write me" where you have to decide something. The test
tests/apis/test_new.py fails as long as one of them is left. See docs/adding-an-api.md for what to write there.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, NoReturn

from kio.schema.index import api_key_map

from fakebroker.apis import registry
from fakebroker.apis.stub_fields import dict_of, has, news
from fakebroker.protocol.messages import api_name, is_flexible, request_type, response_type, versions
from fakebroker.spelling import closest

ROOT = Path(__file__).parents[2]
_ROOM = "cluster"
_WIDTH = 120

_HANDLER = '''"""{name} (API key {key}), {versions_in_words}.

Behaviour      write me: what Kafka answers, to what.
Version notes  {notes}
Not done       write me: what Kafka does and this does not, or "Nothing."
Source         write me: core/.../server/KafkaApis.scala handle...
"""

from __future__ import annotations

{standard}
from fakebroker.apis import registry
from fakebroker.apis.authorization import nothing
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import reads
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from {request_module} import {request_class}

KEY = {key}


def _respond(ctx: RequestContext, **values: Any) -> None:
    defaults: dict[str, Any] = {defaults}
    ctx.respond(build(response_type(KEY, ctx.api_version), defaults | values))


def error_response(ctx: RequestContext, request: {request_class}, code: ErrorCode) -> None:
{error_note}    _respond({error_arguments})


# write me: reads, changes or appends; the parts of a request; each error that Kafka has, and its place (apis/errors.py)
# write me: the permissions that a client needs (apis/authorization.py)
@registry.api(
    KEY,
    {lowest},
    {highest},
    error_response=error_response,
    authorization=nothing("write me"),
    errors=reads("", ""),
)
def handle(ctx: RequestContext, request: {request_class}) -> None:
    # write me: if a client can name many things in it, or be told many, this is a generator (docs/adding-an-api.md)
    raise NotImplementedError("write me: {name} is not served yet")
'''

_ERROR_NOTE = """\
    # write me: {versions} have no error of their own. Where does it go?
    # Kafka: {request_class}.getErrorResponse
"""

_TEST = '''"""{name}, every version (apis/{room}/{module}.py)."""

from __future__ import annotations

{standard}
import pytest
from support.asking import ask, served_versions
from support.simulation import SimulatedClient, Simulation

{constant} = {key}

# As for the newest version: what an older one has no field for is left out.
REQUEST: dict[str, Any] = {request}


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(brokers=3)


@pytest.fixture
def client(simulation: Simulation) -> SimulatedClient:
    return simulation.connect()


@pytest.mark.parametrize("version", served_versions({constant}))
def test_write_me(client: SimulatedClient, version: int) -> None:
    answer = ask(client, {constant}, version, **REQUEST)

    pytest.fail(f"write me: is this what Kafka answers? {{answer}}")
'''

_CASES = '''"""{name}: write me."""

from __future__ import annotations

{standard}from conformance.frames import request
from conformance.scenario import Case, Send, Settle

_KEY = {key}
_REQUEST: dict[str, Any] = {request}


def _case(name: str, why: str, *frames: bytes) -> Case:
    return Case(f"{group}/{{name}}", why, (Send(frames), Settle()))


CASES: list[Case] = [
    *(_case(f"v{{version}}", "write me", request(_KEY, version, _REQUEST)) for version in {range}),
]
'''

_NEXT = """
Next (docs/adding-an-api.md):
  .venv/bin/python -m pytest {test}    fails until the handler and the test are written
  .venv/bin/python -m conformance cases '{group}/*'    the same bytes to Apache Kafka and to us
  make quick, make check, make conformance
  fakebroker apis --markdown > docs/apis.md
  .venv/bin/python -m conformance.errors --write    the errors in docs/errors.md and docs/faults.md
  a line in CHANGELOG.md
"""


class NewApiRefusal(Exception):
    """A refusal to write the files. Its text is one plain sentence."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise NewApiRefusal(f"{message}.")


def stubs(key: int, lowest: int, highest: int, room: str = _ROOM) -> dict[str, str]:
    """Return the files of an API: path in the checkout, and text."""
    module, name = api_key_map[key], api_name(key)
    served = range(lowest, highest + 1)
    requests = [request_type(key, version) for version in reversed(served)]
    responses = [response_type(key, version) for version in reversed(served)]
    without_error = [version for version in served if not has(response_type(key, version), "error_code")]
    request_class = requests[0].__name__
    defaults = dict_of(responses, "    ")
    request = dict_of(requests)
    words = {
        "key": key,
        "name": name,
        "module": module,
        "constant": module.upper(),
        "group": module.replace("_", "-"),
        "room": room,
        "lowest": lowest,
        "highest": highest,
        "range": f"range({highest + 1})" if lowest == 0 else f"range({lowest}, {highest + 1})",
        "versions_in_words": f"version {lowest}" if lowest == highest else f"versions {lowest}-{highest}",
        "notes": "\n               ".join(wrap(_notes(key, served), _WIDTH - 15)),
        "request_module": requests[0].__module__,
        "request_class": request_class,
        "error_arguments": "ctx, error_code=code" if len(without_error) < len(served) else "ctx",
        "error_note": _error_note(without_error, request_class),
        "defaults": defaults,
        "request": request,
    }
    return {
        f"fakebroker/apis/{room}/{module}.py": _HANDLER.format(
            standard=_imports(defaults, "TYPE_CHECKING, Any"), **words
        ),
        f"tests/apis/{room}/test_{module}.py": _TEST.format(standard=_imports(request, "Any"), **words),
        f"conformance/cases/{room}/{module}.py": _CASES.format(standard=_imports(request, "Any") + "\n", **words),
    }


def _imports(text: str, typing: str) -> str:
    """Return the imports of the standard library that a text needs."""
    times = [name for name in ("UTC", "datetime", "timedelta") if re.search(rf"\b{name}\b", text)]
    lines = [f"from datetime import {', '.join(times)}\n"] if times else []
    lines.append(f"from typing import {typing}\n")
    return "".join(lines)


def _error_note(versions_without: list[int], request_class: str) -> str:
    if not versions_without:
        return ""
    first, last = versions_without[0], versions_without[-1]  # no API loses its error and regains it
    which = f"v{first}-v{last}"
    return _ERROR_NOTE.format(versions=which, request_class=request_class)


def _notes(key: int, served: range) -> str:
    """Return what is new in each version but the first, according to the message classes."""
    said = []
    for version in served[1:]:
        before, now = version - 1, version
        parts = ["flexible"] if is_flexible(key, now) > is_flexible(key, before) else []
        for what, kind in (("request", request_type), ("response", response_type)):
            parts += [f"{what} {change}" for change in news(kind(key, before), kind(key, now))]
        said.append(f"v{version} {', '.join(parts) or 'the same fields'}")
    return ("; ".join(said) + "; " if said else "") + "write me: what each means (with its KIP)."


def find_key(text: str) -> int:
    """Return the key of an API by its number or its name, in any spelling. Raises NewApiRefusal."""
    if text.isascii() and text.isdecimal():
        if int(text) not in api_key_map:
            raise NewApiRefusal(f"There is no API with the key {int(text)}: they go from 0 to {max(api_key_map)}.")
        return int(text)
    keys = {_plain(name): key for key, name in api_key_map.items()}
    if _plain(text) in keys:
        return keys[_plain(text)]
    near = [api_name(keys[name]) for name in closest(_plain(text), keys, 3)]
    raise NewApiRefusal(
        f"There is no API called {text!r}{': did you mean ' + ' or '.join(near) + '?' if near else '.'}"
    )


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def choose_versions(key: int, lowest: int | None, highest: int | None) -> tuple[int, int]:
    """Return the versions to serve; the default is those that kio can read. Raises NewApiRefusal."""
    known = versions(key)
    chosen = known[0] if lowest is None else lowest, known[-1] if highest is None else highest
    if chosen[0] > chosen[1] or not {*chosen} <= {*known}:
        raise NewApiRefusal(
            f"{api_name(key)} cannot be served as v{chosen[0]} to v{chosen[1]}: kio reads v{known[0]} to v{known[-1]}."
        )
    return chosen


def rooms(root: Path) -> list[str]:
    """Return the folders of APIs in a checkout. Raises NewApiRefusal if it is none."""
    folder = root / "fakebroker" / "apis"
    if not (
        (root / "conformance" / "cases").is_dir()
        and (root / "tests" / "apis").is_dir()
        and (root / "pyproject.toml").is_file()
    ):
        raise NewApiRefusal(f"{root} is not a checkout of fakebroker, so it has no folders for a test and a case.")
    return sorted(path.parent.name for path in folder.glob("*/__init__.py"))


def write(root: Path, arguments: list[str]) -> Iterator[str]:
    """Write the files below a checkout. Yield the messages, line by line. If it raises NewApiRefusal, nothing is
    written."""
    options = _options(arguments)
    key = find_key(options.api)
    known_rooms = rooms(root)
    if options.room not in known_rooms:
        raise NewApiRefusal(
            f"There is no folder {options.room!r} in fakebroker/apis: there are {', '.join(known_rooms)}."
        )
    if (served := registry.load().get(key)) is not None:
        raise NewApiRefusal(
            f"{served.name} is served already, v{served.min_version} to v{served.max_version}, by"
            f" {served.handle.__module__.replace('.', '/')}.py."
        )
    files = stubs(key, *choose_versions(key, options.min, options.max), options.room)
    if there := [path for path in files if (root / path).exists()]:
        raise NewApiRefusal(f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} there already.")
    for path, text in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
        yield f"wrote {path}"
    _, test, _ = files
    yield _NEXT.format(test=test, group=api_key_map[key].replace("_", "-")).rstrip()


def _options(arguments: list[str]) -> Any:
    parser = _Parser(
        prog="python -m fakebroker.apis.new", description="Write the stubs of an API: its handler, test and cases."
    )
    parser.add_argument(
        "api", metavar="KEY_OR_NAME", help="key or name of the API: 60, DescribeCluster or describe-cluster"
    )
    parser.add_argument("--min", type=int, metavar="V", help="the lowest version to serve (all that kio reads)")
    parser.add_argument("--max", type=int, metavar="V", help="the highest version to serve")
    parser.add_argument(
        "--room", default=_ROOM, help=f"its folder in fakebroker/apis, tests/apis and conformance/cases ({_ROOM})"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str], root: Path = ROOT) -> int:
    try:
        for line in write(root, arguments):
            print(line)
    except NewApiRefusal as refusal:
        print(f"fakebroker.apis.new: {refusal}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
