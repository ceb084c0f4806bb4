"""`fakebroker client-settings`: print the settings with which a client connects to a cluster that `serve` runs.

The HTTP control of the cluster has them (`POST /v1/client-settings`). Those of Java are printed as a file of
properties, which Kafka's tools read with `--command-config`; all others as JSON.
"""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from fakebroker.commands.command_line import Parser, Slip
from fakebroker.core.arguments import require_unicode

_CONTROL = "http://127.0.0.1:9644"
_LIMIT_S = 30
_JAVA = "java"
_NOT_AS_IT_IS = re.compile(r"\A |[^ -~]")


def declare(parser: Parser) -> None:
    parser.usage = f"{parser.prog} LIBRARY [LISTENER] [OPTIONS]"
    parser.add_argument(
        "library",
        metavar="LIBRARY",
        help="aiokafka, confluent, franz-go, java, kafka-go, kafka-python, kafkajs, librdkafka or sarama.",
    )
    parser.add_argument(
        "listener", metavar="LISTENER", nargs="?", help="Name or protocol of the listener (default: the first one)."
    )
    parser.add_argument("--mechanism", metavar="NAME", help="Mechanism of SASL (default: PLAIN).")
    parser.add_argument("--user", metavar="NAME", help="User of SASL.")
    parser.add_argument("--password", metavar="TEXT", help="Its password; that of a user of serve is known.")
    parser.add_argument("--common-name", metavar="NAME", help="Make a certificate for a client of this name.")
    parser.add_argument("--token", metavar="TEXT", help="Token for OAUTHBEARER.")
    parser.add_argument("--control", metavar="URL", default=_CONTROL, help=f"The HTTP control (default: {_CONTROL}).")
    parser.add_argument("--control-token", metavar="TOKEN", help="Its token, if it has one.")


def run(options: Namespace) -> int:
    names = ("library", "listener", "mechanism", "user", "password", "common_name", "token")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    _require_unicode(given | {"control_token": options.control_token or ""})
    settings = _ask(options.control, options.control_token, given)
    if options.library == _JAVA:
        for name, value in settings.items():
            print(f"{name}={_java_value(str(value))}")
    else:
        print(json.dumps(settings, indent=2))
    return 0


def _require_unicode(given: Mapping[str, str]) -> None:
    for name, value in given.items():
        try:
            require_unicode(f"the {name.replace('_', ' ')}", value)
        except ValueError as error:
            raise Slip(str(error)) from None


def _java_value(text: str) -> str:
    """Return the value for a file of properties. Java reads such a file as ISO-8859-1, and drops blanks before a
    value."""
    return _NOT_AS_IT_IS.sub(_utf_16_escapes, text.replace("\\", "\\\\"))


def _utf_16_escapes(character: re.Match[str]) -> str:
    units = character.group().encode("utf-16-be", "surrogatepass").hex(" ", 2)
    return "".join(f"\\u{unit}" for unit in units.split())


def _ask(url: str, token: str | None, body: Mapping[str, Any]) -> dict[str, Any]:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        if not url.startswith(("http://", "https://")):
            raise ValueError("it begins with neither http:// nor https://")
        request = Request(f"{url.rstrip('/')}/v1/client-settings", json.dumps(body).encode(), headers)
        with build_opener(ProxyHandler({})).open(request, timeout=_LIMIT_S) as response:
            answer = json.loads(response.read())
        if not isinstance(answer, dict) or not isinstance(settings := answer.get("settings"), dict):
            raise ValueError("its JSON has no settings")
        return settings
    except HTTPError as error:
        raise Slip(_message(error.read()) or f"--control {url}: {error}") from None
    except URLError as error:
        reason = getattr(error.reason, "strerror", None) or error.reason
        raise Slip(f"--control {url} cannot be reached: {reason}; `fakebroker serve` prints its address") from None
    except (OSError, ValueError, RecursionError, HTTPException) as error:
        raise Slip(f"--control {url} does not answer as fakebroker's HTTP control: {error}") from None


def _message(body: bytes) -> str:
    """Return the sentence of an error of the control; empty for another server's."""
    try:
        error = json.loads(body)["error"]
        member = error.get("member")
        return f"{member}: {error['message']}" if member else str(error["message"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
