"""The setting `fakebroker.aws.msk.iam.credentials`: the access keys with which clients may log in by AWS_MSK_IAM.

Theory   The text is ACCESSKEY:SECRET or ACCESSKEY:SECRET:USER, separated by commas. A user may have colons, as an ARN
         has. No message of an error here shows a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from fakebroker.core.errors import ConfigError

CREDENTIALS: Final = "fakebroker.aws.msk.iam.credentials"
_ENTRY: Final = re.compile(r"(?P<key>\w{1,128}):(?P<secret>[\x21-\x39\x3b-\x7e]+)(?::(?P<user>[^\x00-\x20]+))?", re.A)
_REMEMBERED: Final = 64


class AccessKey(NamedTuple):
    """A known access key: its secret, and the name of the principal that it logs in."""

    secret: str
    user: str


@lru_cache(maxsize=_REMEMBERED)
def parse_access_keys(text: str) -> Mapping[str, AccessKey]:
    """Return the access keys of the setting, by their ids. Raise ConfigError."""
    access_keys: dict[str, AccessKey] = {}
    for number, item in enumerate(text.split(",") if text else (), 1):
        match = _ENTRY.fullmatch(item.strip())
        if match is None:
            raise ConfigError(
                f"Invalid value for configuration {CREDENTIALS}: entry {number} is not ACCESSKEY:SECRET or "
                "ACCESSKEY:SECRET:USER, with a comma between entries"
            )
        if match["key"] in access_keys:
            raise ConfigError(f"Invalid value for configuration {CREDENTIALS}: {match['key']} has two entries")
        access_keys[match["key"]] = AccessKey(match["secret"], match["user"] or match["key"])
    return access_keys
