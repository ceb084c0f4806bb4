"""Types of the attributes of a distinguished name."""

from __future__ import annotations

import pytest

from fakebroker.core.security.acl_binding import ResourceType
from fakebroker.core.security.distinguished_name import rfc2253_name
from fakebroker.server.made.attribute_types import is_attribute_type
from fakebroker.server.security.acls_in_hand import KEYS


@pytest.mark.parametrize("word", ["CN", "cn", "Street", "emailAddress", "SERIALNUMBER", "2.5.4.3", "OID.2.5.4.3"])
def test_an_attribute_type_is_known_in_any_case(word: str) -> None:
    assert is_attribute_type(word)


@pytest.mark.parametrize(
    "word", ["", "foo", "2", "2.", "2.5.x", "oid.", "C N", "²", "2.²", "CN\n", "2.5\n", "permissions"]
)
def test_other_words_are_no_attribute_types(word: str) -> None:
    assert not is_attribute_type(word)


def test_the_keys_of_an_acl_are_no_attribute_types() -> None:
    words = [*KEYS[2:], *ResourceType.__members__]
    assert not [word for word in words if is_attribute_type(word)]


def test_the_names_of_certificates_are_made_of_known_types() -> None:
    numbers = ("550403", "0992268993f22c640101", "2a864886f70d010901", "550405")  # CN, UID, e-mail, serial number
    attributes = [bytes.fromhex(number) for number in numbers]
    subject = b"".join(
        b"\x31%c\x30%c\x06%c%s\x0c\x01x" % (len(one) + 7, len(one) + 5, len(one), one) for one in attributes
    )
    name = rfc2253_name(subject)
    assert all(is_attribute_type(part.partition("=")[0]) for part in name.split(","))
