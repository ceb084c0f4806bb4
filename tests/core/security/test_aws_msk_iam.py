"""The mechanism AWS_MSK_IAM, message by message, against signers of AWS and of kafka-python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import doses
from support.msk_iam import ACCESS_KEY, HOST, REGION, SECRET, VECTORS, date_of, fields_at, message, ms_of

from fakebroker.core.iam_access_keys import AccessKey
from fakebroker.core.security.sasl.aws_msk_iam import AwsMskIamSaslServer, IamRules
from fakebroker.core.security.sasl.sasl_server import SaslAuthenticationError

NOW_MS = 1_800_000_000_000  # 2027-01-15 08:00
DATE, DAY = "20270115T080000Z", "20270115"
REQUEST_ID = "11111111-2222-4333-8444-555555555555"
SCOPE = f"{ACCESS_KEY}/{DAY}/{REGION}/kafka-cluster/aws4_request"
KEYS = {ACCESS_KEY: AccessKey(SECRET, ACCESS_KEY), "OTHER": AccessKey("other", "arn:aws:iam::1:user/other")}
INVALID, DENIED = "Invalid authentication payload", "Access denied"


def server(
    now_ms: int = NOW_MS, hosts: tuple[str, ...] = (HOST,), keys: Mapping[str, AccessKey] = KEYS
) -> AwsMskIamSaslServer:
    return AwsMskIamSaslServer(IamRules(keys, hosts), lambda: REQUEST_ID, lambda: now_ms)


def login(sent: Mapping[str, Any] | bytes, **of_server: Any) -> str:
    """Return the principal's name."""
    sasl = server(**of_server)
    answer = json.loads(sasl.evaluate_response(sent if isinstance(sent, bytes) else message(sent)))
    assert answer == {"version": "2020_10_22", "request-id": REQUEST_ID}
    assert (sasl.is_complete, sasl.expires_ms, sasl.by_token) == (True, None, False)
    return sasl.authorization_id


def refusal(sent: Mapping[str, Any] | bytes, **of_server: Any) -> str:
    """Return the message of a refusal without its request id."""
    sasl = server(**of_server)
    with pytest.raises(SaslAuthenticationError) as refused:
        sasl.evaluate_response(sent if isinstance(sent, bytes) else message(sent))
    assert (sasl.is_complete, sasl.authorization_id) == (False, "")
    before, after = str(refused.value).split(": ", 1)
    assert before == f"[{REQUEST_ID}]"
    assert after.isascii()
    assert after.isprintable()
    return after


@pytest.mark.parametrize("name", VECTORS)
def test_a_message_that_another_signer_has_signed_is_accepted(name: str) -> None:
    vector = VECTORS[name]
    fields = vector["fields"]
    at_ms = ms_of(fields["x-amz-date"])
    keys = {vector["access_key"]: AccessKey(vector["secret"], "alice")}
    assert login(fields, now_ms=at_ms, hosts=(fields["host"],), keys=keys) == "alice"
    wrong = {vector["access_key"]: AccessKey(vector["secret"] + "x", "alice")}
    assert "x-amz-signature is wrong" in refusal(fields, now_ms=at_ms, hosts=(fields["host"],), keys=wrong)


@settings(max_examples=doses.count(100, 2000), deadline=None)
@given(
    secret=st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=60),
    token=st.none() | st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=60),
    region=st.from_regex(r"\A[a-z]{2}-[a-z]{4,8}-[0-9]\Z"),
    at_ms=st.integers(NOW_MS - 300_000, NOW_MS + 300_000),
)
def test_a_message_signed_by_kafka_python_is_accepted(secret: str, token: str | None, region: str, at_ms: int) -> None:
    fields = fields_at(at_ms, secret=secret, token=token, region=region)
    assert login(fields, keys={ACCESS_KEY: AccessKey(secret, "alice")}) == "alice"


def test_an_access_key_logs_its_user_in() -> None:
    assert login(fields_at(NOW_MS)) == ACCESS_KEY
    fields = fields_at(NOW_MS, access_key="OTHER", secret="other")
    assert login(fields) == "arn:aws:iam::1:user/other"
    assert server().claims(message(fields)) == "arn:aws:iam::1:user/other"
    assert server(keys={}).claims(message(fields)) == ""
    assert server().claims(b"{}") == ""


@settings(max_examples=doses.count(300, 20_000), deadline=None)
@given(place=st.integers(0), byte=st.integers(0, 255), token=st.sampled_from([None, "IQoJ/+=="]))
@example(place=0, byte=0, token=None)
def test_no_message_with_one_changed_byte_is_accepted(place: int, byte: int, token: str | None) -> None:
    """The user agent is not signed: its bytes are left out."""
    right = message(fields_at(NOW_MS, token=token))
    begin = right.index(b"kafka-python")
    places = [at for at in range(len(right)) if not begin <= at < begin + len(b"kafka-python")]
    at = places[place % len(places)]
    changed = right[:at] + bytes([byte]) + right[at + 1 :]
    if changed == right:
        assert login(changed) == ACCESS_KEY
    else:
        refusal(changed)


@pytest.mark.parametrize("name", [*fields_at(NOW_MS, token="t")])
@settings(max_examples=doses.count(30, 1000), deadline=None)
@given(value=st.text(max_size=20) | st.none() | st.integers() | st.lists(st.text(max_size=3), max_size=2))
def test_no_message_with_another_value_of_a_field_is_accepted(name: str, value: Any) -> None:
    right = fields_at(NOW_MS, token="t")
    if name != "user-agent" and value != right[name]:
        refusal(right | {name: value})
    assert login(right) == ACCESS_KEY


@pytest.mark.parametrize("name", [*fields_at(NOW_MS)])
def test_each_field_is_required_once(name: str) -> None:
    right = fields_at(NOW_MS)
    without = {key: value for key, value in right.items() if key != name}
    assert refusal(without) == f"{INVALID}: the field {name} is missing"
    twice = message(right)[:-1] + f',"{name}":{json.dumps(right[name])}}}'.encode()
    assert refusal(twice) == f"{INVALID}: the field {name} comes twice"
    assert refusal(right | {name: ""}) == f"{INVALID}: {name} is not a text, or is empty"
    assert refusal(right | {name: {"a": "b"}}) == f"{INVALID}: {name} is not a text, or is empty"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "the message is not JSON in UTF-8"),
        (b"\xff", "the message is not JSON in UTF-8"),
        (b"{} {}", "the message is not JSON in UTF-8"),
        (b"\xef\xbb\xbf{}", "the message is not JSON in UTF-8"),
        (b"[" * 30_000, "the message is not JSON in UTF-8"),
        (b'{"a":' * 6_000, "the message is not JSON in UTF-8"),
        (b"1" * 30_000, "the message is not JSON in UTF-8"),
        (b"[]", "the message is not a JSON object"),
        (b'"x"', "the message is not a JSON object"),
        (b"NaN", "the message is not a JSON object"),
        (b"{}", "the field version is missing"),
        (b" " * 32_769, "the message has 32769 bytes; at most 32768 are read"),
        (b'{"Version":"1"}', 'the field "Version" is unknown; names are in lower case'),
        (b'{"x\\n\\u0000":1}', 'the field "x\\n\\u0000" is unknown; names are in lower case'),
        (b'{"' + b"x" * 99 + b'":1}', f'the field "{"x" * 80}"... is unknown; names are in lower case'),
    ],
)
def test_a_message_of_another_form_is_refused(sent: bytes, reason: str) -> None:
    assert refusal(sent) == f"{INVALID}: {reason}"


FORM = "it has to be ACCESSKEY/YYYYMMDD/REGION/kafka-cluster/aws4_request"
EXPIRES = "it has to be 1 to 900 seconds"
TIME = "it has to be a time as in 20260131T235959Z"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("version", "2020_10_23", 'version is "2020_10_23"; it has to be "2020_10_22"'),
        ("action", "kafka-cluster:*", 'action is "kafka-cluster:*"; it has to be "kafka-cluster:Connect"'),
        ("x-amz-algorithm", "HMAC", 'x-amz-algorithm is "HMAC"; it has to be "AWS4-HMAC-SHA256"'),
        ("x-amz-signedheaders", "host;x", 'x-amz-signedheaders is "host;x"; it has to be "host"'),
        ("x-amz-credential", "AKID", f'x-amz-credential is "AKID"; {FORM}'),
        ("x-amz-credential", "A/20270115/r/kafka/aws4_request", f"{FORM}"),
        ("x-amz-credential", "A/20270115/r/kafka-cluster/aws4", f"{FORM}"),
        ("x-amz-credential", SCOPE + "/", f"{FORM}"),
        (
            "x-amz-credential",
            SCOPE.replace(DAY, "20270114"),
            f"x-amz-credential is of the day 20270114, and x-amz-date is {DATE}",
        ),
        ("x-amz-date", "2027-01-15", f'x-amz-date is "2027-01-15"; {TIME}'),
        ("x-amz-date", "20270230T000000Z", f'x-amz-date is "20270230T000000Z"; {TIME}'),
        ("x-amz-date", "00000101T000000Z", f'x-amz-date is "00000101T000000Z"; {TIME}'),
        ("x-amz-expires", "901", f'x-amz-expires is "901"; {EXPIRES}'),
        ("x-amz-expires", "0", f'x-amz-expires is "0"; {EXPIRES}'),
        ("x-amz-expires", "-1", f'x-amz-expires is "-1"; {EXPIRES}'),
        ("x-amz-expires", "9.5", f'x-amz-expires is "9.5"; {EXPIRES}'),
        ("x-amz-expires", "٩", "x-amz-expires has other characters than the visible ones of ASCII"),
        ("host", "a\nb", "host has other characters than the visible ones of ASCII"),
        ("host", "\ud800", "host has other characters than the visible ones of ASCII"),
    ],
)
def test_a_field_of_another_form_is_refused(name: str, value: str, reason: str) -> None:
    refused = refusal(fields_at(NOW_MS) | {name: value})
    assert refused.startswith(f"{INVALID}: ")
    assert refused.endswith(reason)


@pytest.mark.parametrize("signed", ["service", "algorithm", "version"])
def test_a_right_signature_of_a_wrong_constant_is_refused(signed: str) -> None:
    assert refusal(fields_at(NOW_MS, **{signed: "other"})).startswith(f"{INVALID}: ")


def test_an_unknown_access_key_is_refused() -> None:
    reason = "the access key STRANGER is not one of those in fakebroker.aws.msk.iam.credentials"
    assert refusal(fields_at(NOW_MS, access_key="STRANGER")) == f"{DENIED}: {reason}"


def test_a_wrong_signature_is_refused_with_what_the_broker_signs() -> None:
    refused = refusal(fields_at(NOW_MS, secret="wrong"))
    assert refused.startswith(f"{DENIED}: x-amz-signature is wrong for the access key {ACCESS_KEY}. ")
    query = (
        "Action=kafka-cluster%3AConnect&X-Amz-Algorithm=AWS4-HMAC-SHA256"
        f"&X-Amz-Credential={SCOPE.replace('/', '%2F')}&X-Amz-Date={DATE}&X-Amz-Expires=900&X-Amz-SignedHeaders=host"
    )
    assert json.dumps(f"GET\n/\n{query}\nhost:{HOST}\n\nhost\n")[:-1] in refused
    assert json.dumps(f"AWS4-HMAC-SHA256\n{DATE}\n{DAY}/{REGION}/kafka-cluster/aws4_request\n")[:-1] in refused


def test_a_refusal_shows_neither_secrets_nor_the_right_signature() -> None:
    right = fields_at(NOW_MS, token="SESSION" * 200)
    refused = refusal(right | {"x-amz-signature": "0" * 64})
    assert "%281400-characters%29" in refused
    assert not [text for text in (SECRET, "SESSION", right["x-amz-signature"]) if text in refused]
    assert len(refused) < 900  # the journal keeps 1,000 characters


@pytest.mark.parametrize(
    ("host", "hosts"),
    [
        ("127.0.0.1", ("localhost",)),
        ("localhost", ("127.0.0.1",)),
        ("::1", ("127.0.0.1",)),
        ("[::1]", ("::1",)),
        ("Kafka.test", ("kafka.TEST", "other")),
        ("anything", ("0.0.0.0",)),
        ("anything", ("kafka.test", "::")),
    ],
)
def test_a_host_of_the_listener_is_accepted(host: str, hosts: tuple[str, ...]) -> None:
    assert login(fields_at(NOW_MS, host=host), hosts=hosts) == ACCESS_KEY


@pytest.mark.parametrize("host", ["other", "kafka.test:9092", "127.0.0.1", "kafka.test."])
def test_another_host_is_refused(host: str) -> None:
    reason = f'host is "{host}"; the listener is kafka.test, without a port'
    assert refusal(fields_at(NOW_MS, host=host), hosts=("kafka.test",)) == f"{DENIED}: {reason}"


@pytest.mark.parametrize("expires_s", [1, 300, 900])
def test_a_signature_expires_with_its_last_millisecond(expires_s: int) -> None:
    fields = fields_at(NOW_MS, expires=str(expires_s))
    end_ms = NOW_MS + 1000 * expires_s
    assert login(fields, now_ms=end_ms - 1) == ACCESS_KEY
    reason = f"the signature of {DATE} has expired after {expires_s} s; the clock of the cluster is at {end_ms} ms"
    assert refusal(fields, now_ms=end_ms) == f"{DENIED}: {reason}"


def test_a_clock_may_run_five_minutes_ahead() -> None:
    fields = fields_at(NOW_MS)
    assert login(fields, now_ms=NOW_MS - 300_000) == ACCESS_KEY
    clock = f"the clock of the cluster is at {NOW_MS - 300_001} ms"
    reason = f"x-amz-date is {DATE}, which is 300001 ms ahead of the cluster's clock; {clock}"
    assert refusal(fields, now_ms=NOW_MS - 300_001) == f"{DENIED}: {reason}"


def test_dates_are_those_of_the_calendar() -> None:
    for at_ms in (0, 951_782_400_000, 4_102_444_799_000):  # the epoch, a leap day, the end of 2099
        fields = fields_at(at_ms)
        assert fields["x-amz-date"] == date_of(at_ms)
        assert login(fields, now_ms=at_ms) == ACCESS_KEY
        assert "ahead" in refusal(fields, now_ms=at_ms - 300_001)
