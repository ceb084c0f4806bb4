"""A reader of JSON bodies, which accepts only what every response can repeat.

Theory   `json.loads` accepts more than that: NaN, and lone surrogates, which UTF-8 cannot encode, so a list with one
         could not be returned. For a number of thousands of digits it raises a message about Python. All of these are
         refused here, for both APIs, before the body is used. So is a body of very many values, or with a very long
         list or mapping: it would be read and checked in one turn of the loop, and a thread would not help, because it
         holds the interpreter lock.
Source   RFC 8259, section 8; RFC 7493 (I-JSON).
"""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn

from starlette.exceptions import HTTPException

# A topic of 10,000 partitions with three replicas each has fewer.
MAX_VALUES: Final = 32_000
MAX_ELEMENTS: Final = 1_000  # of a list
MAX_LISTS: Final = 10_000  # of a list of lists, as the replicas of each partition
MAX_MEMBERS: Final = 1_000  # of a mapping


def read_json(body: bytes) -> Any:
    """Return the value. Raises JSONDecodeError with a readable `msg`, HTTPException (413) for a body with too much."""
    text = ""
    if body.count(b",") >= MAX_VALUES:
        raise _too_large(f"a body has at most {MAX_VALUES:,} values")
    try:
        text = body.decode(json.detect_encoding(body))
        value = json.loads(text, parse_constant=_refuse_constant)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError:
        raise json.JSONDecodeError("it is not UTF-8", text, 0) from None
    except UnicodeEncodeError as error:
        raise json.JSONDecodeError(f"{error.object[error.start]!a} is a lone surrogate", text, 0) from None
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deeply", text, 0) from None
    except ValueError:
        raise json.JSONDecodeError("a number has thousands of digits", text, 0) from None
    _refuse_long(value)
    return value


def _refuse_long(value: Any) -> None:
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            inner = [one for one in part.values() if isinstance(one, dict | list)]
            if len(part) > MAX_MEMBERS:
                raise _too_large(f"a mapping in a body has at most {MAX_MEMBERS:,} members, not {len(part):,}")
        elif isinstance(part, list):
            inner = [one for one in part if isinstance(one, dict | list)]
            has_lists = len(inner) == len(part) and not any(isinstance(one, dict) for one in inner)
            most = MAX_LISTS if has_lists else MAX_ELEMENTS
            if len(part) > most:
                raise _too_large(f"a list in a body has at most {most:,} elements, not {len(part):,}")
        else:
            return
        left += inner


def _too_large(why: str) -> HTTPException:
    return HTTPException(413, why)


def _refuse_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not a JSON number", name, 0)
