"""Settings of brokers: authentication, authorization, and SSL.

Source   BrokerSecurityConfigs.java, SslConfigs.java, DelegationTokenManagerConfigs.java @ 4.4 (read out of the
         released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.config_def import BOOLEAN, CLASS, LIST, LONG, PASSWORD, STRING, at_least, one_of, some_of
from fakebroker.core.config.setting import PER_BROKER, Setting, Strings, StrOrNone


class SecurityConfigs:
    """Principals, certificates, delegation tokens."""

    authorizer_class_name = Setting(STRING, "", doc="a plugin that says who may do what")
    principal_builder_class = Setting(
        CLASS,
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        mode=PER_BROKER,
        doc="a plugin that says who a connection is",
    )
    security_providers = StrOrNone(STRING, None, doc="classes that bring security algorithms")
    connections_max_reauth_ms = Setting(
        LONG, 0, doc="a SASL connection has to authenticate anew after so long; 0: never"
    )
    ssl_client_auth = Setting(
        STRING,
        "none",
        one_of("required", "requested", "none"),
        mode=PER_BROKER,
        doc="whether clients show a certificate",
    )
    ssl_principal_mapping_rules = Setting(STRING, "DEFAULT", doc="how the name in a certificate becomes a user")
    ssl_allow_dn_changes = Setting(BOOLEAN, False, doc="a new certificate may have another name")
    ssl_allow_san_changes = Setting(BOOLEAN, False, doc="and other alternative names")
    ssl_protocol = Setting(STRING, "TLSv1.3", mode=PER_BROKER, doc="the protocol that a context is made for")
    ssl_provider = StrOrNone(STRING, None, mode=PER_BROKER, doc="who provides it")
    ssl_enabled_protocols = Strings(
        LIST, ("TLSv1.2", "TLSv1.3"), some_of(may_be_empty=True), mode=PER_BROKER, doc="the protocols that are accepted"
    )
    ssl_keystore_type = Setting(STRING, "JKS", mode=PER_BROKER, doc="form of the key store")
    ssl_keystore_location = StrOrNone(STRING, None, mode=PER_BROKER, doc="file of the key store")
    ssl_keystore_password = StrOrNone(PASSWORD, None, mode=PER_BROKER, doc="its password")
    ssl_key_password = StrOrNone(PASSWORD, None, mode=PER_BROKER, doc="password of the key")
    ssl_keystore_key = StrOrNone(PASSWORD, None, mode=PER_BROKER, doc="the key itself, as PEM")
    ssl_keystore_certificate_chain = StrOrNone(
        PASSWORD, None, mode=PER_BROKER, doc="the certificates of the key, as PEM"
    )
    ssl_truststore_type = Setting(STRING, "JKS", mode=PER_BROKER, doc="form of the trust store")
    ssl_truststore_location = StrOrNone(STRING, None, mode=PER_BROKER, doc="file of the trust store")
    ssl_truststore_password = StrOrNone(PASSWORD, None, mode=PER_BROKER, doc="its password")
    ssl_truststore_certificates = StrOrNone(PASSWORD, None, mode=PER_BROKER, doc="the trusted certificates, as PEM")
    ssl_keymanager_algorithm = Setting(STRING, "SunX509", mode=PER_BROKER, doc="of the key manager")
    ssl_trustmanager_algorithm = Setting(STRING, "PKIX", mode=PER_BROKER, doc="of the trust manager")
    ssl_endpoint_identification_algorithm = Setting(
        STRING, "https", mode=PER_BROKER, doc="how the name of the host is checked"
    )
    ssl_secure_random_implementation = StrOrNone(STRING, None, mode=PER_BROKER, doc="the source of randomness")
    ssl_cipher_suites = Strings(
        LIST, (), some_of(may_be_empty=True), mode=PER_BROKER, doc="the suites that are accepted; empty: all"
    )
    ssl_engine_factory_class = StrOrNone(CLASS, None, mode=PER_BROKER, doc="a plugin that makes SSL engines")
    delegation_token_secret_key = StrOrNone(PASSWORD, None, doc="what tokens are signed with")
    delegation_token_max_lifetime_ms = Setting(LONG, 604_800_000, at_least(1), doc="the longest life of a token")
    delegation_token_expiry_time_ms = Setting(
        LONG, 86_400_000, at_least(1), doc="a token that is not renewed expires after so long"
    )
    delegation_token_expiry_check_interval_ms = Setting(
        LONG, 3_600_000, at_least(1), doc="how often expired tokens are removed"
    )
