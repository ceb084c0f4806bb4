"""The distinguished name of a certificate's subject, as Java writes it: it is the principal of a client.

Theory   A certificate is DER: each value has a tag, a length and a content. The subject is a sequence of sets of
         attributes, and an attribute has a type and a value. The text has the last set first. A type has its keyword of
         RFC 2253, or else its number; after a number, or for a value that is no text, the value is the hexadecimal
         digits of its DER.
Source   RFC 5280; RFC 2253 as javax.security.auth.x500.X500Principal.getName writes it. The cases of the test are made
         by Java 17. It reads texts of two-byte characters (BMPString) as UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# Numbers of attributes, in DER, that have a keyword.
_KEYWORDS: Final = {
    bytes.fromhex("550403"): "CN",
    bytes.fromhex("550406"): "C",
    bytes.fromhex("550407"): "L",
    bytes.fromhex("550408"): "ST",
    bytes.fromhex("550409"): "STREET",
    bytes.fromhex("55040a"): "O",
    bytes.fromhex("55040b"): "OU",
    bytes.fromhex("0992268993f22c640119"): "DC",
    bytes.fromhex("0992268993f22c640101"): "UID",
}
# UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString
_TEXTS: Final = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
_VERSION: Final = 0xA0
_LONG_LENGTH: Final = 0x80
_SPECIAL: Final = re.compile(r'[,=+<>#;"\\]')
_BLANKS: Final = " \r"  # escaped at both ends of a text


def subject_of(certificate: bytes) -> str:
    """Return the name of a certificate's subject. Raises ValueError if the certificate cannot be read."""
    [(_, signed, _)] = _values(certificate)
    fields = [value for value in _values(next(_values(signed))[1]) if value[0] != _VERSION]
    _serial_number, _signature, _issuer, _validity, subject, *_ = fields
    return rfc2253_name(subject[1])


def rfc2253_name(subject: bytes) -> str:
    """Return the text of a subject: the content of its sequence. Raises ValueError if it cannot be read."""
    relative_names = [content for _, content, _ in _values(subject)]
    return ",".join("+".join(map(_attribute, _values(relative))) for relative in reversed(relative_names))


def _attribute(of: tuple[int, bytes, bytes]) -> str:
    (_, kind, _), (tag, content, value) = _values(of[1])
    keyword = _KEYWORDS.get(kind)
    if keyword is None or tag not in _TEXTS:
        return f"{keyword or _number(kind)}=#{value.hex()}"
    escaped = _SPECIAL.sub(r"\\\g<0>", content.decode(errors="replace")).replace("\0", "\\00")
    inner_and_end = escaped.lstrip(_BLANKS)
    inner = inner_and_end.rstrip(_BLANKS)
    start, end = escaped[: len(escaped) - len(inner_and_end)], inner_and_end[len(inner) :]
    return f"{keyword}={_each_escaped(start)}{inner}{_each_escaped(end)}"


def _each_escaped(blanks: str) -> str:
    return "".join(f"\\{blank}" for blank in blanks)


def _number(kind: bytes) -> str:
    """Return the number of an attribute's type, as in 2.5.4.12."""
    arcs, arc = [], 0
    for byte in kind:
        arc = arc << 7 | byte & 0x7F
        if not byte & 0x80:
            arcs.append(arc)
            arc = 0
    first = min(arcs[0] // 40, 2)
    return ".".join(map(str, (first, arcs[0] - 40 * first, *arcs[1:])))


def _values(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield tag, content and all bytes of each value. Raises ValueError."""
    at = 0
    while at < len(data):
        start = at
        tag, length = data[at : at + 2]
        at += 2
        if length >= _LONG_LENGTH:
            size = length - _LONG_LENGTH
            if not size:
                raise ValueError("a value in DER has no length")
            length = int.from_bytes(data[at : at + size])
            at += size
        end = at + length
        if end > len(data):
            raise ValueError("a value in DER ends behind its sequence")
        yield tag, data[at:end], data[start:end]
        at = end
