"""Types of the attributes of a distinguished name, as in CN=alice,O=x.

Theory   A type is a name or the digits of an object identifier. The names are those that writers of certificates'
         names use: LDAP's short and long ones, Java's keywords, and OpenSSL's. Upper and lower case are equal.
Source   RFC 4514 (2.3 and 3), RFC 4519, RFC 4524, RFC 2798; sun.security.x509.AVAKeyword of Java 17; OpenSSL's
         obj_mac.h.
"""

from __future__ import annotations

import re
from typing import Final

_OBJECT_IDENTIFIER: Final = re.compile(r"(?:oid\.)?\d+(?:\.\d+)+", re.ASCII)
_RFC_4514: Final = "cn l st o ou c street dc uid"
_RFC_4519: Final = """
    businessCategory commonName countryName description destinationIndicator distinguishedName dnQualifier
    domainComponent facsimileTelephoneNumber generationQualifier givenName houseIdentifier initials
    internationalISDNNumber localityName member name organizationName organizationalUnitName owner
    physicalDeliveryOfficeName postalAddress postalCode postOfficeBox preferredDeliveryMethod registeredAddress
    roleOccupant seeAlso serialNumber sn
    stateOrProvinceName streetAddress surname telephoneNumber teletexTerminalIdentifier telexNumber title uniqueMember
    userId userPassword x121Address x500UniqueIdentifier
"""
_RFC_4524_AND_2798: Final = """
    associatedDomain associatedName buildingName co departmentNumber displayName employeeNumber employeeType
    friendlyCountryName homePhone homePostalAddress info mail manager mobile organizationalStatus otherMailbox pager
    personalTitle preferredLanguage rfc822Mailbox roomNumber secretary uniqueIdentifier userClass
"""
_JAVA: Final = "dnq e email generation ip s t"
_OPENSSL: Final = """
    challengePassword dmdName emailAddress gn jurisdictionC jurisdictionCountryName jurisdictionL
    jurisdictionLocalityName jurisdictionST jurisdictionStateOrProvinceName organizationIdentifier pseudonym role
    unstructuredAddress unstructuredName
"""
_NAMES: Final = frozenset(" ".join((_RFC_4514, _RFC_4519, _RFC_4524_AND_2798, _JAVA, _OPENSSL)).lower().split())


def is_attribute_type(word: str) -> bool:
    """Return True if an attribute of a distinguished name may have this type."""
    return word.lower() in _NAMES or _OBJECT_IDENTIFIER.fullmatch(word.lower()) is not None
