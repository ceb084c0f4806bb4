"""The mechanisms that a listener offers, and the server's side of each, with the listener's settings.

Source   clients/.../common/network/SaslChannelBuilder.java configure, createServerCallbackHandlers,
         createConnectionsMaxReauthMsMap @ 4.4.
Differs  GSSAPI and mechanisms of plugins are not offered, even if they are enabled. If `sasl.enabled.mechanisms` is not
         set, all others are offered: Kafka's default is GSSAPI alone. A mechanism without a
         `sasl.jaas.config` has no options; Kafka does not start then. A validator of OAUTHBEARER tokens is the one for
         unsecured tokens, or, if `sasl.server.callback.handler.class` names one that checks signatures, ours.
         AWS_MSK_IAM is not Kafka's. It is offered where `sasl.enabled.mechanisms` names it, or, if that is not set,
         where the listener has access keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Final, final
from uuid import UUID

from fakebroker.core.clock import HasNow
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.hash_order import hash_map_order
from fakebroker.core.iam_access_keys import AccessKey, parse_access_keys
from fakebroker.core.security.identity import Listener
from fakebroker.core.security.sasl import aws_msk_iam, oauth_bearer, plain
from fakebroker.core.security.sasl.aws_msk_iam import AwsMskIamSaslServer, IamRules
from fakebroker.core.security.sasl.jaas_config import LoginModule, parse_login_module
from fakebroker.core.security.sasl.oauth_bearer import OAuthBearerSaslServer, OAuthBearerToken
from fakebroker.core.security.sasl.plain import PlainSaslServer, authenticator_of
from fakebroker.core.security.sasl.sasl_server import SaslServer
from fakebroker.core.security.sasl.scram import Credential, ScramSaslServer
from fakebroker.core.security.sasl.scram_formatter import MECHANISMS, random_text
from fakebroker.core.security.sasl.signed_jwt import JwtRules, Verify, no_keys, validate_signed
from fakebroker.core.security.sasl.unsecured_jws import validate_unsecured
from fakebroker.core.security.scram_credentials import ScramCredentials

_SCRAM: Final = {mechanism.name: mechanism for mechanism in MECHANISMS.values()}
SERVED: Final = (plain.MECHANISM, *_SCRAM, oauth_bearer.MECHANISM)
KNOWN: Final = (*SERVED, aws_msk_iam.MECHANISM)
_UNSECURED: Final = "org.apache.kafka.common.security.oauthbearer.internals.unsecured."

FindToken = Callable[[str, str], Credential | None]
FindHosts = Callable[[int, Listener], Collection[str]]


@final
class SaslMechanisms:
    """The mechanisms of all listeners.

    find_token   returns the credential of a delegation token, by mechanism and id of the token
    find_hosts   returns the hosts of a listener of a broker: where it listens, and what the brokers advertise
    verify       verifies the signature of a token of OAUTHBEARER with the key of the cluster
    keys         do the same with other keys, by the URL in `sasl.oauthbearer.jwks.endpoint.url`
    plain_users  passwords for PLAIN by user, at all listeners, beside those of login modules
    """

    def __init__(
        self,
        configs: DynamicBrokerConfig,
        credentials: ScramCredentials,
        find_token: FindToken,
        find_hosts: FindHosts,
        clock: HasNow,
        random: Random,
    ) -> None:
        self._configs = configs
        self._credentials = credentials
        self._find_token = find_token
        self._find_hosts = find_hosts
        self._clock = clock
        self._random = random
        self.verify: Verify = no_keys
        self.plain_users: dict[str, str] = {}
        self.keys: dict[str, Verify] = {}

    def enabled(self, broker_id: int, listener: Listener) -> list[str]:
        """Return the mechanisms that a listener offers, in the order of Kafka's HashSet."""
        config = self._configs.of_listener(broker_id, listener.name)
        if "sasl_enabled_mechanisms" in config.given:
            return [name for name in hash_map_order(config.sasl_enabled_mechanisms) if name in KNOWN]
        return hash_map_order(KNOWN if self._access_keys(broker_id, listener) else SERVED)

    def max_receive_size(self, broker_id: int, listener: Listener) -> int:
        """Return the largest frame of a client that is not authenticated."""
        config = self._configs.of_listener(broker_id, listener.name)
        return config.sasl_server_max_receive_size

    def max_reauth_ms(self, broker_id: int, listener: Listener, mechanism: str) -> int:
        """Return how long a session may last at most; 0 for ever."""
        config = self._configs.of_listener(broker_id, listener.name, mechanism)
        return max(config.connections_max_reauth_ms, 0)

    def jwks_url(self, broker_id: int, listener: Listener) -> str:
        """Return the URL of the keys with which a listener verifies tokens; "" if they are the cluster's own, or if it
        verifies none."""
        config = self.token_config(broker_id, listener)
        return (config.sasl_oauthbearer_jwks_endpoint_url or "") if _checks_signatures(config) else ""

    def token_config(self, broker_id: int, listener: Listener) -> BrokerConfig:
        """Return the settings of a listener for OAUTHBEARER."""
        return self._configs.of_listener(broker_id, listener.name, oauth_bearer.MECHANISM)

    def new_server(self, broker_id: int, listener: Listener, mechanism: str) -> SaslServer:
        """Begin an exchange of an enabled mechanism. Raise ConfigError if its login module cannot be read."""
        config = self._configs.of_listener(broker_id, listener.name, mechanism)
        text = config.sasl_jaas_config
        module = None if text is None else parse_login_module(text)
        if mechanism == plain.MECHANISM:
            return PlainSaslServer(authenticator_of(module, self.plain_users))
        if mechanism == aws_msk_iam.MECHANISM:
            rules = IamRules(self._access_keys(broker_id, listener), self._find_hosts(broker_id, listener))
            return AwsMskIamSaslServer(rules, self._request_id, lambda: self._clock.now.wall_ms)
        if mechanism == oauth_bearer.MECHANISM:
            return OAuthBearerSaslServer(self._validator(config, module))
        scram, credentials, random = _SCRAM[mechanism], self._credentials, self._random
        return ScramSaslServer(
            scram,
            lambda user: credentials.find(user, scram.number),
            lambda token_id: self._find_token(mechanism, token_id),
            lambda: random_text(random),
        )

    def _access_keys(self, broker_id: int, listener: Listener) -> Mapping[str, AccessKey]:
        config = self._configs.of_listener_now(broker_id, listener.name, aws_msk_iam.MECHANISM)
        return parse_access_keys(config.fakebroker_aws_msk_iam_credentials)

    def _request_id(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _validator(self, config: BrokerConfig, module: LoginModule | None) -> Callable[[str], OAuthBearerToken]:
        if not _checks_signatures(config):
            options = {} if module is None else module.options
            return lambda token: validate_unsecured(token, options, self._clock.now.wall_ms)
        rules = JwtRules(
            config.sasl_oauthbearer_expected_audience,
            config.sasl_oauthbearer_expected_issuer or "",
            config.sasl_oauthbearer_scope_claim_name,
            config.sasl_oauthbearer_sub_claim_name,
            config.sasl_oauthbearer_clock_skew_seconds * 1000,
        )
        others = self.keys.get(config.sasl_oauthbearer_jwks_endpoint_url or "")
        return lambda token: validate_signed(token, others or self.verify, rules, self._clock.now.wall_ms)


def _checks_signatures(config: BrokerConfig) -> bool:
    handler = config.sasl_server_callback_handler_class
    return handler is not None and not handler.startswith(_UNSECURED)
