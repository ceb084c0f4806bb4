"""Errors as responses, in one form: {"error": {"code", "message", ...}}.

Shape    `code` is Kafka's name of an error for a KafkaError (then `kafka_code` has its number), else one of ours
         (CODES). `member` is the place of a mistake in the body or the query. `message` is one sentence.
Errors   Any other exception is a bug: 500, INTERNAL_ERROR, and its traceback in the log.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from fakebroker.core.errors import KafkaError
from fakebroker.protocol.error_code import ErrorCode, kafka_name

log = logging.getLogger("fakebroker")

CODES: Mapping[str, str] = {
    "INVALID_JSON": "400: the body is no JSON",
    "UNAUTHORIZED": "401: the token is missing or wrong",
    "FORBIDDEN": "403: a page of another origin asks, or the name in Host is not that of this machine",
    "NOT_FOUND": "404: no such path, broker, fault or cluster",
    "METHOD_NOT_ALLOWED": "405",
    "CONFLICT": "409: not as things are, e.g. the clock is the real one",
    "TOO_LARGE": "413: the body, or a list or mapping in it",
    "INVALID_BODY": "422: a member is unknown, missing or of the wrong type; `member` says which",
    "INVALID_ARGUMENT": "422: a value that cannot be",
    "TOO_MANY": "429: clusters or waiting requests",
    "INTERNAL_ERROR": "500: a bug",
    "STOPPING": "503: the cluster is about to stop, so there is nothing to wait for",
}
_STATUS: Mapping[ErrorCode, int] = {
    ErrorCode.unknown_topic_or_partition: 404,
    ErrorCode.unknown_topic_id: 404,
    ErrorCode.group_id_not_found: 404,
    ErrorCode.topic_already_exists: 409,
    ErrorCode.no_reassignment_in_progress: 409,
    ErrorCode.preferred_leader_not_available: 409,
    ErrorCode.eligible_leaders_not_available: 409,
}
_OF_STATUS: Mapping[int, str] = {400: "INVALID_JSON", 404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 413: "TOO_LARGE"}
_SHOWN = 80  # characters of a wrong value


class ControlError(Exception):
    """An error response of ours: HTTP status, code, one sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


def not_found(message: str) -> ControlError:
    return ControlError(404, "NOT_FOUND", message)


def conflict(message: str) -> ControlError:
    return ControlError(409, "CONFLICT", message)


def stopping() -> ControlError:
    return ControlError(503, "STOPPING", "the cluster is about to stop: what the request waits for will not happen")


@contextmanager
def given() -> Iterator[None]:
    """Turn errors for values of the caller into responses, around a call of the cluster. Elsewhere a ValueError is a
    bug."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ControlError(422, "INVALID_ARGUMENT", str(error)) from None
    except RuntimeError as error:
        raise conflict(str(error)) from None


def error_answer(status: int, code: str, message: str, **more: object) -> Response:
    """Return a response in the one form. All but ASCII is escaped, so invalid text can be returned as well."""
    content = json.dumps({"error": {"code": code, "message": message, **more}})
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return Response(content, status, headers, "application/json")


def add_handlers(app: FastAPI) -> None:
    """Add a handler for each kind of exception."""

    @app.exception_handler(ControlError)
    async def _ours(request: Request, error: ControlError) -> Response:
        return error_answer(error.status, error.code, error.message)

    @app.exception_handler(KafkaError)
    async def _kafka(request: Request, error: KafkaError) -> Response:
        name = kafka_name(error.code)
        return error_answer(_STATUS.get(error.code, 400), name, error.message or name, kafka_code=int(error.code))

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        first: Mapping[str, Any] = error.errors()[0]
        if first["type"] == "json_invalid":
            why = first.get("ctx", {}).get("error", "it cannot be read")
            return error_answer(400, "INVALID_JSON", f"the body is no JSON: {why}")
        where = _where(first["loc"])
        return error_answer(422, "INVALID_BODY", _sentence(first, where), member=where)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        message, path = str(error.detail), shown(request.scope["path"])
        if error.status_code == 404:
            message = f"there is no path {path}; /openapi.json has those there are"
        elif error.status_code == 405:
            message = f"{path} has no {request.method}; /openapi.json has what there is"
        answer = error_answer(error.status_code, _OF_STATUS.get(error.status_code, "INVALID_BODY"), message)
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def _bug(request: Request, error: Exception) -> Response:
        log.error("bug in fakebroker: %s %s failed", request.method, request.scope["path"], exc_info=error)
        return error_answer(500, "INTERNAL_ERROR", f"a bug in fakebroker: {type(error).__name__}; its log has more")


def _where(place: Sequence[int | str]) -> str:
    """Return configs.name for ("body", "configs", "name")."""
    return ".".join(str(part) for part in place[1:]) or str(place[0] if place else "body")


def _sentence(problem: Mapping[str, Any], where: str) -> str:
    kind = problem["type"]
    text = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    if kind in ("value_error", "unknown_member"):
        return text
    if kind == "missing":
        return f"{where} is missing"
    if kind == "int_parsing_size":
        text = "a number of fewer digits"
    return f"{where} is to be {text}, and not {_beginning(problem.get('input'))}"


def _beginning(value: object) -> str:
    """Return a value of the caller as JSON, shortened. Only as much of it is encoded as is shown."""
    text = ""
    for part in json.JSONEncoder(default=repr).iterencode(value):
        text += part
        if len(text) > _SHOWN:
            break
    return shown(text)


def shown(text: str) -> str:
    """Shorten a value of the caller so that a message stays one readable sentence."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
