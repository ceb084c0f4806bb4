"""Apache Kafka with the listeners, users and ACLs of `secured.py`, for the same plays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from conformance.targets.boxes import Box
from conformance.targets.target import KafkaTarget
from fakebroker.server.tls.certificates import Certificates
from support.secured import CONFIG, SASL, TLS, Secured, set_up

_MODULES = "org.apache.kafka.common.security"
_LISTENER = "listener.name.sasl_ssl"
_KAFKA = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    f"{_LISTENER}.scram-sha-256.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
    f"{_LISTENER}.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
    f"{_LISTENER}.oauthbearer.sasl.jaas.config": (
        f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
    ),
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


class SecuredKafka:
    """A broker of Kafka. `certificates` is the folder of the CA that signs its certificate and trusts its clients."""

    def __init__(self, target: KafkaTarget, certificates: Path) -> None:
        self._target = target
        self.certificates = certificates

    @classmethod
    @contextmanager
    def started(cls, folder: Path) -> Iterator[Self]:
        """Start it. Raises Unavailable."""
        made = Certificates(["127.0.0.1", "localhost"], folder)
        stores = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(made.valid),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(made.ca),
        }
        config = {name: str(value).lower() if value is False else str(value) for name, value in CONFIG.items()}
        target = KafkaTarget(Box(1, config | _KAFKA, stores, listeners=(SASL, TLS)))
        target.start()
        try:
            set_up(target.bootstrap_servers)
            yield cls(target, folder)
        finally:
            target.stop()

    def redirected(self, secured: Secured, settings: dict[str, Any]) -> dict[str, Any]:
        """Return settings for fakebroker with the address of Kafka's listener instead."""
        ours = {secured.kafka.bootstrap(name): "{}:{}".format(*self._target.others[name, 1]) for name in (SASL, TLS)}
        if "brokers" in settings:
            return settings | {"brokers": [ours[place] for place in settings["brokers"]]}
        return settings | {"bootstrap.servers": ours[settings["bootstrap.servers"]]}
