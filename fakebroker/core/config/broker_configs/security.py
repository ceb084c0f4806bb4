"""Settings of brokers: authentication, authorization, and SSL.

Source   BrokerSecurityConfigs.java, SslConfigs.java, DelegationTokenManagerConfigs.java @ 4.4 (read out of the
         released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from typing import Final

from fakebroker.core.config.config_def import (
    BOOLEAN,
    CLASS,
    LIST,
    LONG,
    PASSWORD,
    STRING,
    Value,
    at_least,
    invalid,
    one_of,
    some_of,
)
from fakebroker.core.config.setting import PER_BROKER, Setting, Strings, StrOrNone

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def _standard_authorizer(name: str, value: Value) -> None:
    """Refuse another class than StandardAuthorizer. Kafka loads any."""
    if value not in ("", STANDARD_AUTHORIZER):
        raise invalid(name, value, f"the only one here is {STANDARD_AUTHORIZER}")


def _principals(name: str, value: Value) -> None:
    """Refuse a principal without a type (StandardAuthorizer.getConfiguredSuperUsers)."""
    for user in str(value).split(";"):
        if user.strip() and ":" not in user:
            raise invalid(name, user.strip(), "expected a string in format principalType:principalName")


class SecurityConfigs:
    """Principals, certificates, delegation tokens."""

    authorizer_class_name = Setting(
        STRING,
        "",
        _standard_authorizer,
        by="core/controller/controller",
        doc="class of the authorizer; empty: everything is allowed",
    )
    super_users = Setting(
        STRING,
        "",
        _principals,
        by="core/controller/controller",
        doc="of StandardAuthorizer: principals that may do everything, with semicolons between",
        is_kafkas=False,
    )
    allow_everyone_if_no_acl_found = Setting(
        BOOLEAN,
        False,
        by="core/controller/controller",
        doc="of StandardAuthorizer: whether a resource without any ACL is open to all",
        is_kafkas=False,
    )
    principal_builder_class = Setting(
        CLASS,
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        mode=PER_BROKER,
        doc="class that derives the principal of a connection",
    )
    security_providers = StrOrNone(STRING, None, doc="classes that provide security algorithms")
    connections_max_reauth_ms = Setting(
        LONG,
        0,
        by="cluster/sasl/mechanisms",
        doc="time after which a SASL connection must authenticate again; 0: never",
    )
    ssl_client_auth = Setting(
        STRING,
        "none",
        one_of("required", "requested", "none"),
        mode=PER_BROKER,
        by="server/tls/contexts",
        doc="whether clients need a certificate",
    )
    ssl_principal_mapping_rules = Setting(
        STRING, "DEFAULT", by="cluster/cluster", doc="rules that map a certificate's name to a user"
    )
    ssl_allow_dn_changes = Setting(
        BOOLEAN,
        False,
        by="server/tls/reconfiguration",
        doc="whether a new certificate may have another distinguished name",
    )
    ssl_allow_san_changes = Setting(
        BOOLEAN,
        False,
        by="server/tls/reconfiguration",
        doc="whether a new certificate may have other alternative names",
    )
    ssl_protocol = Setting(STRING, "TLSv1.3", mode=PER_BROKER, doc="protocol of the SSL context")
    ssl_provider = StrOrNone(STRING, None, mode=PER_BROKER, doc="provider of the SSL context")
    ssl_enabled_protocols = Strings(
        LIST,
        ("TLSv1.2", "TLSv1.3"),
        some_of(may_be_empty=True),
        mode=PER_BROKER,
        by="server/tls/contexts",
        doc="SSL protocols that are accepted",
    )
    ssl_keystore_type = Setting(STRING, "JKS", mode=PER_BROKER, by="server/tls/stores", doc="format of the key store")
    ssl_keystore_location = StrOrNone(
        STRING, None, mode=PER_BROKER, by="server/tls/stores", doc="file of the key store"
    )
    ssl_keystore_password = StrOrNone(
        PASSWORD, None, mode=PER_BROKER, by="server/tls/stores", doc="password of the key store"
    )
    ssl_key_password = StrOrNone(
        PASSWORD, None, mode=PER_BROKER, by="server/tls/stores", doc="password of the private key"
    )
    ssl_keystore_key = StrOrNone(PASSWORD, None, mode=PER_BROKER, by="server/tls/stores", doc="private key, as PEM")
    ssl_keystore_certificate_chain = StrOrNone(
        PASSWORD, None, mode=PER_BROKER, by="server/tls/stores", doc="certificate chain of the private key, as PEM"
    )
    ssl_truststore_type = Setting(
        STRING, "JKS", mode=PER_BROKER, by="server/tls/stores", doc="format of the trust store"
    )
    ssl_truststore_location = StrOrNone(
        STRING, None, mode=PER_BROKER, by="server/tls/stores", doc="file of the trust store"
    )
    ssl_truststore_password = StrOrNone(
        PASSWORD, None, mode=PER_BROKER, by="server/tls/stores", doc="password of the trust store"
    )
    ssl_truststore_certificates = StrOrNone(
        PASSWORD, None, mode=PER_BROKER, by="server/tls/stores", doc="trusted certificates, as PEM"
    )
    ssl_keymanager_algorithm = Setting(STRING, "SunX509", mode=PER_BROKER, doc="algorithm of the key manager")
    ssl_trustmanager_algorithm = Setting(STRING, "PKIX", mode=PER_BROKER, doc="algorithm of the trust manager")
    ssl_endpoint_identification_algorithm = Setting(
        STRING, "https", mode=PER_BROKER, doc="algorithm that checks the host name"
    )
    ssl_secure_random_implementation = StrOrNone(STRING, None, mode=PER_BROKER, doc="source of randomness")
    ssl_cipher_suites = Strings(
        LIST, (), some_of(may_be_empty=True), mode=PER_BROKER, doc="cipher suites that are accepted; empty: all"
    )
    ssl_engine_factory_class = StrOrNone(CLASS, None, mode=PER_BROKER, doc="class that makes SSL engines")
    delegation_token_secret_key = StrOrNone(
        PASSWORD, None, by="core/controller/controller", doc="key that signs delegation tokens"
    )
    delegation_token_max_lifetime_ms = Setting(
        LONG, 604_800_000, at_least(1), by="core/controller/controller", doc="longest life of a delegation token"
    )
    delegation_token_expiry_time_ms = Setting(
        LONG,
        86_400_000,
        at_least(1),
        by="core/controller/controller",
        doc="time after which a delegation token expires if it is not renewed",
    )
    delegation_token_expiry_check_interval_ms = Setting(
        LONG,
        3_600_000,
        at_least(1),
        by="cluster/housekeeping",
        doc="interval at which expired delegation tokens are removed",
    )
