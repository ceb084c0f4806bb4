"""Settings of brokers: SASL.

Source   SaslConfigs.java, BrokerSecurityConfigs.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.config_def import (
    BOOLEAN,
    CLASS,
    DOUBLE,
    INT,
    LIST,
    LONG,
    PASSWORD,
    SHORT,
    STRING,
    between,
    one_of_ignoring_case,
    some_of,
)
from fakebroker.core.config.setting import PER_BROKER, IntOrNone, Setting, Strings, StrOrNone


class SaslServerConfigs:
    """Authentication of clients and brokers by SASL."""

    sasl_mechanism_inter_broker_protocol = Setting(
        STRING, "GSSAPI", mode=PER_BROKER, doc="SASL mechanism between brokers"
    )
    sasl_enabled_mechanisms = Strings(
        LIST,
        ("GSSAPI",),
        some_of(may_be_empty=True),
        mode=PER_BROKER,
        by="cluster/sasl/mechanisms",
        doc="SASL mechanisms that clients may use",
    )
    sasl_server_max_receive_size = Setting(
        INT, 524_288, by="cluster/sasl/mechanisms", doc="largest message during authentication"
    )
    sasl_server_callback_handler_class = StrOrNone(
        CLASS, None, by="cluster/sasl/mechanisms", doc="class that checks credentials"
    )
    sasl_jaas_config = StrOrNone(
        PASSWORD, None, mode=PER_BROKER, by="cluster/sasl/mechanisms", doc="login modules of a listener"
    )
    sasl_client_callback_handler_class = StrOrNone(CLASS, None, doc="class that supplies the broker's own credentials")
    sasl_login_class = StrOrNone(CLASS, None, doc="class that logs in")
    sasl_login_callback_handler_class = StrOrNone(CLASS, None, doc="class that answers the callbacks of a login")
    sasl_login_refresh_window_factor = Setting(
        DOUBLE, 0.8, mode=PER_BROKER, doc="part of a login's life after which it is renewed"
    )
    sasl_login_refresh_window_jitter = Setting(
        DOUBLE, 0.05, mode=PER_BROKER, doc="largest random part that is added to the refresh window"
    )
    sasl_login_refresh_min_period_seconds = Setting(
        SHORT, 60, mode=PER_BROKER, doc="shortest time until a login is renewed"
    )
    sasl_login_refresh_buffer_seconds = Setting(
        SHORT, 300, mode=PER_BROKER, doc="shortest time between a renewal and the end of the login"
    )
    sasl_login_connect_timeout_ms = IntOrNone(INT, None, doc="time for which a login waits for a connection")
    sasl_login_read_timeout_ms = IntOrNone(INT, None, doc="time for which a login waits for a response")
    sasl_login_retry_backoff_max_ms = Setting(LONG, 10_000, doc="longest pause between two tries of a login")
    sasl_login_retry_backoff_ms = Setting(LONG, 100, doc="first pause between two tries of a login")
    sasl_kerberos_principal_to_local_rules = Strings(
        LIST,
        ("DEFAULT",),
        some_of(may_be_empty=True),
        mode=PER_BROKER,
        doc="rules that map a principal to a user name",
    )
    sasl_kerberos_service_name = StrOrNone(STRING, None, mode=PER_BROKER, doc="principal name of the brokers")
    sasl_kerberos_kinit_cmd = Setting(STRING, "/usr/bin/kinit", mode=PER_BROKER, doc="path of kinit")
    sasl_kerberos_ticket_renew_window_factor = Setting(
        DOUBLE, 0.8, mode=PER_BROKER, doc="part of a ticket's life after which it is renewed"
    )
    sasl_kerberos_ticket_renew_jitter = Setting(
        DOUBLE, 0.05, mode=PER_BROKER, doc="largest random part that is added to the renewal time"
    )
    sasl_kerberos_min_time_before_relogin = Setting(
        LONG, 60_000, mode=PER_BROKER, doc="shortest time between two renewals, in ms"
    )
    sasl_oauthbearer_jwt_retriever_class = Setting(
        CLASS, "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever", doc="class that gets tokens"
    )
    sasl_oauthbearer_jwt_validator_class = Setting(
        CLASS, "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator", doc="class that checks tokens"
    )
    sasl_oauthbearer_scope = StrOrNone(STRING, None, doc="scope that is requested")
    sasl_oauthbearer_client_credentials_client_id = StrOrNone(
        STRING, None, doc="client id of the grant by client credentials"
    )
    sasl_oauthbearer_client_credentials_client_secret = StrOrNone(
        PASSWORD, None, doc="secret of the grant by client credentials"
    )
    sasl_oauthbearer_assertion_algorithm = Setting(
        STRING, "RS256", one_of_ignoring_case("ES256", "RS256"), doc="algorithm that signs an assertion"
    )
    sasl_oauthbearer_assertion_claim_aud = StrOrNone(STRING, None, doc="audience of an assertion")
    sasl_oauthbearer_assertion_claim_exp_seconds = Setting(INT, 300, between(0, 86_400), doc="lifetime of an assertion")
    sasl_oauthbearer_assertion_claim_iss = StrOrNone(STRING, None, doc="issuer of an assertion")
    sasl_oauthbearer_assertion_claim_jti_include = Setting(BOOLEAN, False, doc="whether an assertion has an id")
    sasl_oauthbearer_assertion_claim_nbf_seconds = Setting(
        INT, 60, between(0, 3600), doc="time before now at which an assertion becomes valid"
    )
    sasl_oauthbearer_assertion_claim_sub = StrOrNone(STRING, None, doc="subject of an assertion")
    sasl_oauthbearer_assertion_file = StrOrNone(STRING, None, doc="file with an existing assertion")
    sasl_oauthbearer_assertion_private_key_file = StrOrNone(
        STRING, None, doc="file with the key that signs an assertion"
    )
    sasl_oauthbearer_assertion_private_key_passphrase = StrOrNone(
        PASSWORD, None, doc="passphrase of the key that signs an assertion"
    )
    sasl_oauthbearer_assertion_template_file = StrOrNone(STRING, None, doc="file with other fields of an assertion")
    sasl_oauthbearer_scope_claim_name = Setting(
        STRING, "scope", by="cluster/sasl/mechanisms", doc="claim that has the scope"
    )
    sasl_oauthbearer_sub_claim_name = Setting(
        STRING, "sub", by="cluster/sasl/mechanisms", doc="claim that has the subject"
    )
    sasl_oauthbearer_token_endpoint_url = StrOrNone(STRING, None, doc="URL from which tokens are got")
    sasl_oauthbearer_jwks_endpoint_url = StrOrNone(
        STRING,
        None,
        by="cluster/sasl/mechanisms",
        doc="URL of the keys for checks: of a file or a server",
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms = Setting(
        LONG, 3_600_000, by="server/oauth/http_keys", doc="interval at which the keys for checks are got again"
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms = Setting(
        LONG, 100, by="server/oauth/http_keys", doc="first pause between two tries to get the keys"
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms = Setting(
        LONG, 10_000, by="server/oauth/http_keys", doc="longest pause between two tries to get the keys"
    )
    sasl_oauthbearer_clock_skew_seconds = Setting(
        INT, 30, by="cluster/sasl/mechanisms", doc="largest difference of clocks that is tolerated"
    )
    sasl_oauthbearer_allow_unverified_audience = Setting(
        BOOLEAN, False, doc="whether tokens for any audience are accepted"
    )
    sasl_oauthbearer_expected_audience = Strings(
        LIST, (), some_of(may_be_empty=True), by="cluster/sasl/mechanisms", doc="audiences that are accepted"
    )
    sasl_oauthbearer_allow_unverified_issuer = Setting(BOOLEAN, False, doc="whether tokens of any issuer are accepted")
    sasl_oauthbearer_expected_issuer = StrOrNone(
        STRING, None, by="cluster/sasl/mechanisms", doc="issuer that is accepted"
    )
