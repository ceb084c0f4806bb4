"""The JSON Schema of a scenario, for editors, made from the fields of model.py. `fakebroker-load schema` prints it."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from fakebroker_load.arrivals import MAX_RATE
from fakebroker_load.scenario.actions import BROKER_VERBS, VERBS
from fakebroker_load.scenario.answers import NO_ANSWER
from fakebroker_load.scenario.batches import CODECS, ENDS
from fakebroker_load.scenario.limits import SHARE_PATTERN
from fakebroker_load.scenario.model import CLIENTS, COUNTS, MAX_TIMEOUT_MS, WRITTEN, RequestGroup
from fakebroker_load.scenario.reads import ISOLATIONS, READERS

_TIME = {"type": "integer", "minimum": 0, "maximum": MAX_TIMEOUT_MS}
_MS = {"type": "integer", "minimum": 0}
_TYPES: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "bool | None": {"type": "boolean"},
    "int": {"type": "integer", "minimum": 0},
    "tuple[int, int] | None": {"oneOf": [_MS, {"type": "array", "items": _MS, "minItems": 2, "maxItems": 2}]},
    "tuple[int, int]": {"oneOf": [_TIME, {"type": "array", "items": _TIME, "minItems": 2, "maxItems": 2}]},
}
_ABOVE_0 = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_RATE}
_WHOLE = {"type": "integer", "minimum": 1}
_STEP = {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 2, "maxItems": 2}
_ARRIVAL_KEYS: dict[str, dict[str, Any]] = {
    "constant": {"rate": _ABOVE_0},
    "poisson": {"rate": _ABOVE_0},
    "bursts": {"burst": _WHOLE, "every_ms": _WHOLE},
    "steps": {"steps": {"type": "array", "items": _STEP, "minItems": 1}},
    "trace": {"file": {"type": "string"}},
}
_ARRIVALS = [
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["process", *keys],
        "properties": {"process": {"const": process}, **keys},
    }
    for process, keys in _ARRIVAL_KEYS.items()
]
_OF_SENDERS = ("acks", "expect")
_REPLICAS = {"type": "array", "minItems": 1, "items": {"type": "integer"}}
_ACTIONS = [
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["at_ms", verb],
        "properties": {
            "at_ms": {"type": "integer", "minimum": 0},
            verb: {"type": "integer" if verb in BROKER_VERBS else "object"},
        },
    }
    for verb in VERBS
]
_OWN: dict[str, dict[str, Any]] = {
    "acks": {"enum": [-1, 0, 1]},
    "expect": {"type": "string", "description": f'the error\'s name in Kafka, "NONE", "{NO_ANSWER}" or "unknown"'},
    "also": {"type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 100}},
    "source": {"type": "string", "minLength": 1},
    "client": {"enum": list(CLIENTS)},
    "beside": {"type": "object", "additionalProperties": {"type": "string"}},
    "compression": {"enum": list(CODECS)},
    "settings": {"type": "object", "description": "of the producer, by Kafka's names"},
    "isolation": {"enum": list(ISOLATIONS)},
    "transaction": {"enum": list(ENDS)},
    "written": {"enum": list(WRITTEN)},
    "name": {"type": "string", "minLength": 1},
    "topic": {"type": "string", "minLength": 1},
    "arrivals": {"oneOf": _ARRIVALS},
    "latency_limit_ms": {
        "type": "object",
        "propertyNames": {"pattern": SHARE_PATTERN},
        "additionalProperties": {"type": "number", "exclusiveMinimum": 0},
    },
    "record_bytes": {"type": "integer", "minimum": 0, "maximum": 1_000_000},
    **{name: {"type": "integer", "minimum": 1} for name in COUNTS},
}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema, draft 2020-12."""
    required = [field.name for field in fields(RequestGroup) if field.default is field.default_factory is MISSING]
    group = {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in required if name not in _OF_SENDERS],
        "if": {"properties": {"client": {"enum": list(READERS)}}, "required": ["client"]},
        "then": {"properties": dict.fromkeys(_OF_SENDERS, False)},
        "else": {"required": list(_OF_SENDERS)},
        "properties": {field.name: _OWN.get(field.name) or _TYPES[str(field.type)] for field in fields(RequestGroup)},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A scenario of fakebroker-load",
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "groups"],
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "about": {"type": "string"},
            "brokers": {"type": "integer", "minimum": 1},
            "send_delay_limit_ms": {"type": "integer", "minimum": 0},
            "lateness_limit_ms": {"type": "integer", "minimum": 0},
            "configs": {"type": "object", "additionalProperties": {"type": "object"}},
            "followers": {"type": "array", "items": {"type": "object", "required": ["topic"]}},
            "assignments": {"type": "object", "additionalProperties": {"type": "array", "items": _REPLICAS}},
            "actions": {"type": "array", "items": {"oneOf": _ACTIONS}},
            "groups": {"type": "array", "minItems": 1, "items": group},
        },
    }
