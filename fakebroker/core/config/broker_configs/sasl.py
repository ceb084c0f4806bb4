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

    sasl_mechanism_inter_broker_protocol = Setting(STRING, "GSSAPI", mode=PER_BROKER, doc="the mechanism among brokers")
    sasl_enabled_mechanisms = Strings(
        LIST, ("GSSAPI",), some_of(may_be_empty=True), mode=PER_BROKER, doc="the mechanisms that clients may use"
    )
    sasl_server_max_receive_size = Setting(INT, 524_288, doc="the largest message while a client authenticates")
    sasl_server_callback_handler_class = StrOrNone(CLASS, None, doc="a plugin that checks credentials")
    sasl_jaas_config = StrOrNone(PASSWORD, None, mode=PER_BROKER, doc="login modules of a listener")
    sasl_client_callback_handler_class = StrOrNone(CLASS, None, doc="a plugin that gives the broker's own credentials")
    sasl_login_class = StrOrNone(CLASS, None, doc="a plugin that logs in")
    sasl_login_callback_handler_class = StrOrNone(CLASS, None, doc="a plugin that the login asks")
    sasl_login_refresh_window_factor = Setting(
        DOUBLE, 0.8, mode=PER_BROKER, doc="a login is renewed after so much of its life"
    )
    sasl_login_refresh_window_jitter = Setting(DOUBLE, 0.05, mode=PER_BROKER, doc="plus at most so much of it")
    sasl_login_refresh_min_period_seconds = Setting(SHORT, 60, mode=PER_BROKER, doc="but not sooner than after so long")
    sasl_login_refresh_buffer_seconds = Setting(SHORT, 300, mode=PER_BROKER, doc="and so long before it ends")
    sasl_login_connect_timeout_ms = IntOrNone(INT, None, doc="how long a login may take to connect")
    sasl_login_read_timeout_ms = IntOrNone(INT, None, doc="and to be answered")
    sasl_login_retry_backoff_max_ms = Setting(LONG, 10_000, doc="the longest pause between two tries")
    sasl_login_retry_backoff_ms = Setting(LONG, 100, doc="the first pause")
    sasl_kerberos_principal_to_local_rules = Strings(
        LIST,
        ("DEFAULT",),
        some_of(may_be_empty=True),
        mode=PER_BROKER,
        doc="how the name of a principal becomes a user",
    )
    sasl_kerberos_service_name = StrOrNone(STRING, None, mode=PER_BROKER, doc="the name under which brokers run")
    sasl_kerberos_kinit_cmd = Setting(STRING, "/usr/bin/kinit", mode=PER_BROKER, doc="where kinit is")
    sasl_kerberos_ticket_renew_window_factor = Setting(
        DOUBLE, 0.8, mode=PER_BROKER, doc="a ticket is renewed after so much of its life"
    )
    sasl_kerberos_ticket_renew_jitter = Setting(DOUBLE, 0.05, mode=PER_BROKER, doc="plus at most so much of it")
    sasl_kerberos_min_time_before_relogin = Setting(
        LONG, 60_000, mode=PER_BROKER, doc="the shortest time between two renewals, in ms"
    )
    sasl_oauthbearer_jwt_retriever_class = Setting(
        CLASS, "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever", doc="a plugin that gets tokens"
    )
    sasl_oauthbearer_jwt_validator_class = Setting(
        CLASS, "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator", doc="a plugin that checks tokens"
    )
    sasl_oauthbearer_scope = StrOrNone(STRING, None, doc="the scope that is asked for")
    sasl_oauthbearer_client_credentials_client_id = StrOrNone(
        STRING, None, doc="the id for the grant by client credentials"
    )
    sasl_oauthbearer_client_credentials_client_secret = StrOrNone(PASSWORD, None, doc="and its secret")
    sasl_oauthbearer_assertion_algorithm = Setting(
        STRING, "RS256", one_of_ignoring_case("ES256", "RS256"), doc="how an assertion is signed"
    )
    sasl_oauthbearer_assertion_claim_aud = StrOrNone(STRING, None, doc="its audience")
    sasl_oauthbearer_assertion_claim_exp_seconds = Setting(INT, 300, between(0, 86_400), doc="how long it is good")
    sasl_oauthbearer_assertion_claim_iss = StrOrNone(STRING, None, doc="its issuer")
    sasl_oauthbearer_assertion_claim_jti_include = Setting(BOOLEAN, False, doc="whether it has an id of its own")
    sasl_oauthbearer_assertion_claim_nbf_seconds = Setting(
        INT, 60, between(0, 3600), doc="how long before now it begins"
    )
    sasl_oauthbearer_assertion_claim_sub = StrOrNone(STRING, None, doc="its subject")
    sasl_oauthbearer_assertion_file = StrOrNone(STRING, None, doc="a file with a ready one")
    sasl_oauthbearer_assertion_private_key_file = StrOrNone(STRING, None, doc="the key it is signed with")
    sasl_oauthbearer_assertion_private_key_passphrase = StrOrNone(PASSWORD, None, doc="and the key's passphrase")
    sasl_oauthbearer_assertion_template_file = StrOrNone(STRING, None, doc="what else stands in it")
    sasl_oauthbearer_scope_claim_name = Setting(STRING, "scope", doc="the claim that holds the scope")
    sasl_oauthbearer_sub_claim_name = Setting(STRING, "sub", doc="the claim that holds the subject")
    sasl_oauthbearer_token_endpoint_url = StrOrNone(STRING, None, doc="where tokens are got")
    sasl_oauthbearer_jwks_endpoint_url = StrOrNone(STRING, None, doc="where the keys for checking are got")
    sasl_oauthbearer_jwks_endpoint_refresh_ms = Setting(LONG, 3_600_000, doc="how often")
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms = Setting(LONG, 100, doc="the first pause between two tries")
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms = Setting(LONG, 10_000, doc="the longest one")
    sasl_oauthbearer_clock_skew_seconds = Setting(INT, 30, doc="how far clocks may be apart")
    sasl_oauthbearer_allow_unverified_audience = Setting(BOOLEAN, False, doc="accept tokens for anybody")
    sasl_oauthbearer_expected_audience = Strings(LIST, (), some_of(may_be_empty=True), doc="for whom a token has to be")
    sasl_oauthbearer_allow_unverified_issuer = Setting(BOOLEAN, False, doc="accept tokens from anybody")
    sasl_oauthbearer_expected_issuer = StrOrNone(STRING, None, doc="from whom a token has to be")
