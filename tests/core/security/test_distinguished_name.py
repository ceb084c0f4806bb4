"""Names of certificates' subjects; the expected ones are those of Java 17."""

from __future__ import annotations

import itertools
import re

import pytest

from fakebroker.core.security.distinguished_name import rfc2253_name, subject_of

# The subject in DER, and its name.
NAMES = {
    "several kinds": (
        "310b30090603550406130255533111300f060355040a0c08412c204220224322311d300a06035504030c03237820300f060a0992268993f22c6401010c0137",
        'CN=\\#x\\ +UID=7,O=A\\, B \\"C\\",C=US',
    ),
    "an e-mail address": (
        "310e300c06035504030c05616c6963653114301206092a864886f70d01090116056140622e63",
        "1.2.840.113549.1.9.1=#16056140622e63,CN=alice",
    ),
    "special characters": ("310e300c06035504030c05613d622363", "CN=a\\=b\\#c"),
    "spaces at the ends": ("3118301606035504030c0f202074776f20207370616365732020", "CN=\\ \\ two  spaces\\ \\ "),
    "carriage returns at the ends": ("310e300c06035504030c050d2061200d", "CN=\\\r\\ a\\ \\\r"),
    "NUL and line feed": ("310d300b06035504030c046100620a", "CN=a\\00b\n"),
    "characters of all sizes": ("3112301006035504030c09c3a4e282acf09d849e", "CN=\xe4\u20ac\U0001d11e"),
    "PrintableString": ("310c300a06035504031303312032", "CN=1 2"),
    "T61String": ("310e300c06035504031405616c31c3a9", "CN=al1\xe9"),
    "IA5String": ("310c300a06035504031603312032", "CN=1 2"),
    "BMPString": ("3111300f06035504031e080061006c003100e9", "CN=\\00a\\00l\\001\\00\ufffd"),
    "UniversalString": (
        "3119301706035504031c10000000610000006c00000031000000e9",
        "CN=#1c10000000610000006c00000031000000e9",
    ),
    "NumericString": ("310c300a06035504031203312032", "CN=#1203312032"),
    "VisibleString": ("310c300a06035504031a03312032", "CN=#1a03312032"),
    "types without a keyword": (
        "310b3009060355040c0c024472310b3009060355040513023432310f300d06082a0304ff7f92a7600c0178",
        "1.2.3.4.16383.300000=#0c0178,2.5.4.5=#13023432,2.5.4.12=#0c024472",
    ),
    "keywords": (
        "310a3008060355042e130171310a300806035504090c0173310b300906035504080c027374310a300806035504070c016c310b3009060355040b0c026f7531123010060a0992268993f22c64011916026463",
        "DC=dc,OU=ou,L=l,ST=st,STREET=s,2.5.4.46=#130171",
    ),
    "a space": ("310a300806035504030c0120", "CN=\\ "),
    "nothing": ("", ""),
    "several in one set": (
        "3124300806035504030c01623008060355040a0c0161300e06092a864886f70d010901160165",
        "CN=b+O=a+1.2.840.113549.1.9.1=#160165",
    ),
}


@pytest.mark.parametrize("kind", NAMES)
def test_a_name_is_written_as_java_writes_it(kind: str) -> None:
    der, name = NAMES[kind]
    assert rfc2253_name(bytes.fromhex(der)) == name


def test_a_long_value_has_a_length_of_two_bytes() -> None:
    value = b"\x0c\x81\xf0" + b"long" * 60
    assert rfc2253_name(b"\x31\x81\xfb\x30\x81\xf8\x06\x03\x55\x04\x0a" + value) == "O=" + "long" * 60


def der_of(text: str) -> bytes:
    """Return a subject of this common name."""

    def value(tag: int, content: bytes) -> bytes:
        return bytes((tag, 0x84)) + len(content).to_bytes(4) + content

    return value(0x31, value(0x30, b"\x06\x03\x55\x04\x03" + value(0x0C, text.encode())))


def test_blanks_at_the_ends_of_all_short_names_are_escaped_and_no_others() -> None:
    for length in range(7):
        for text in map("".join, itertools.product(" \ra", repeat=length)):
            start, inner, end = re.fullmatch(r"([ \r]*)((?:.*[^ \r])?)([ \r]*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
            escaped = ["".join(f"\\{blank}" for blank in blanks) for blanks in (start, end)]
            assert rfc2253_name(der_of(text)) == f"CN={escaped[0]}{inner}{escaped[1]}"


def test_many_spaces_in_a_name_take_no_time() -> None:
    text = f"a{' ' * 200_000}b"  # minutes if the time grew with the square
    assert rfc2253_name(der_of(text)) == f"CN={text}"


def sequence(*values: bytes) -> bytes:
    content = b"".join(values)
    return b"\x30\x82" + len(content).to_bytes(2) + content


@pytest.mark.parametrize("version", [b"", b"\xa0\x03\x02\x01\x02"])
def test_the_subject_is_found_in_a_certificate(version: bytes) -> None:
    der, name = NAMES["several kinds"]
    number, algorithm, issuer, validity = b"\x02\x01\x07", b"\x30\x00", sequence(b"\x31\x00"), b"\x30\x02\x17\x00"
    signed = sequence(version, number, algorithm, issuer, validity, sequence(bytes.fromhex(der)), b"\x30\x00")
    assert subject_of(sequence(signed, algorithm, b"\x03\x01\x00")) == name


@pytest.mark.parametrize("der", ["", "30", "3080", "3005", "30023000", "3004300206ff", "30020500"])
def test_what_is_no_certificate_is_refused(der: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        subject_of(bytes.fromhex(der))
