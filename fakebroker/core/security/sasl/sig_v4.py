"""The signature of an AWS_MSK_IAM message: Signature Version 4 of the query of a `GET /` to kafka-cluster.

Theory   The client signs a request that it never sends. The broker builds the same canonical request from the fields of
         the message, and signs it with the secret of the access key.

           canonical request   GET, /, the sorted query, the header `host`, its name, and the hash of no bytes
           string to sign      algorithm, date, scope, and the hash of the canonical request
           signing key         HMAC over date, region, service and `aws4_request`, beginning with "AWS4" and the secret

Source   AWS Signature Version 4, "Authenticating requests: using query parameters"; README.md of aws-msk-iam-auth.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

ALGORITHM: Final = "AWS4-HMAC-SHA256"
SERVICE: Final = "kafka-cluster"
TERMINATOR: Final = "aws4_request"
SIGNED_HEADERS: Final = "host"
SECURITY_TOKEN: Final = "x-amz-security-token"
# Fields of the message and their names in the query, in the order of the canonical request.
QUERY: Final = {
    "action": "Action",
    "x-amz-algorithm": "X-Amz-Algorithm",
    "x-amz-credential": "X-Amz-Credential",
    "x-amz-date": "X-Amz-Date",
    "x-amz-expires": "X-Amz-Expires",
    SECURITY_TOKEN: "X-Amz-Security-Token",
    "x-amz-signedheaders": "X-Amz-SignedHeaders",
}
_UNRESERVED: Final = "-._~"
_HASH_OF_NOTHING: Final = hashlib.sha256().hexdigest()


def canonical_request(fields: Mapping[str, str]) -> str:
    """Return the request that is signed, from the fields of a message."""
    query = "&".join(f"{name}={quote(fields[field], _UNRESERVED)}" for field, name in QUERY.items() if field in fields)
    return "\n".join(("GET", "/", query, f"host:{fields['host']}", "", SIGNED_HEADERS, _HASH_OF_NOTHING))


def string_to_sign(request: str, date: str, region: str) -> str:
    """Return the text under the signature. `date` is `x-amz-date`."""
    scope = f"{date[:8]}/{region}/{SERVICE}/{TERMINATOR}"
    return "\n".join((ALGORITHM, date, scope, hashlib.sha256(request.encode()).hexdigest()))


def signature_of(text: str, secret: str, day: str, region: str) -> str:
    """Return the signature of a string to sign, as lower-case hexadecimal digits. `day` is as in 20260131."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, SERVICE, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()
