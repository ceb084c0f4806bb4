"""Messages of AWS_MSK_IAM, signed by kafka-python, and once by signers of AWS (msk_iam_vectors.json)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

with warnings.catch_warnings():  # of kafka-python itself, with its first import
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.net.sasl.msk import AwsMskIamClient

ACCESS_KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
REGION, HOST = "eu-central-1", "127.0.0.1"
CREDENTIALS = {"fakebroker.aws.msk.iam.credentials": f"{ACCESS_KEY}:{SECRET}"}
VECTORS: Mapping[str, Any] = json.loads((Path(__file__).parent / "msk_iam_vectors.json").read_text())["vectors"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def date_of(at_ms: int) -> str:
    return (_EPOCH + timedelta(milliseconds=at_ms)).strftime("%Y%m%dT%H%M%SZ")


def ms_of(date: str) -> int:
    return (datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


def fields_at(
    at_ms: int,
    *,
    access_key: str = ACCESS_KEY,
    secret: str = SECRET,
    host: str = HOST,
    region: str = REGION,
    token: str | None = None,
    **signed: str,
) -> dict[str, str]:
    """Return the message of kafka-python at a wall time. `signed` are attributes of its signer, as `expires`."""
    signer = AwsMskIamClient(host=host, access_key=access_key, secret_key=secret, region=region, token=token)
    signer.timestamp = date_of(at_ms)
    signer.datestamp = signer.timestamp[:8]
    for name, value in signed.items():
        assert hasattr(signer, name), name
        setattr(signer, name, value)
    fields: dict[str, str] = json.loads(signer.first_message())
    return fields


def message(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
