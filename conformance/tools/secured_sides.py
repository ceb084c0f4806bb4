"""The two clusters of chapters about security: one broker with a listener of SASL_SSL and StandardAuthorizer, Apache
Kafka's and that of `fakebroker serve`. Both present a certificate of a CA that fakebroker makes."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from conformance.targets.boxes import Box
from conformance.targets.target import KafkaTarget
from conformance.tools.command import Chapter
from conformance.tools.sides import CONFIG, KAFKA_ONLY, ServeSide
from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER
from fakebroker.server.tls.certificates import Certificates

_SASL_SSL = "SASL_SSL"
_MODULES = "org.apache.kafka.common.security"
_LISTENER = "listener.name.sasl_ssl"
_HOSTS = ("127.0.0.1", "localhost")

SECURED_CONFIG = CONFIG | {
    "offsets.topic.replication.factor": "1",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin;User:ANONYMOUS",  # the broker itself, over its listener in plain text
    "delegation.token.secret.key": "secret",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    f"{_LISTENER}.plain.sasl.jaas.config": f'{_MODULES}.plain.PlainLoginModule required user_admin="secret";',
    f"{_LISTENER}.scram-sha-256.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
    f"{_LISTENER}.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
}


class _WithCertificates:
    def __init__(self) -> None:
        self._stack = ExitStack()
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fakebroker-secured-")))
        self.certificates = Certificates(_HOSTS, self.folder)

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def given(self, chapter: Chapter) -> Chapter:
        """Return the chapter with the trust store of this side in its files."""
        truststore = str(self.certificates.truststore)
        return replace(
            chapter, files={name: text.replace("{truststore}", truststore) for name, text in chapter.files.items()}
        )


class SecuredKafkaSide(_WithCertificates):
    """Apache Kafka."""

    def __enter__(self) -> Self:
        store = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.certificates.valid)}
        target = KafkaTarget(Box(1, SECURED_CONFIG, KAFKA_ONLY | store, listeners=(_SASL_SSL,)))
        target.start()
        self._stack.callback(target.stop)
        host, port = target.others[_SASL_SSL, 1]
        self.bootstrap_servers = f"{host}:{port}"
        return self


class SecuredServeSide(_WithCertificates):
    """`fakebroker serve`."""

    def __enter__(self) -> Self:
        options = ("--listener", _SASL_SSL, "--certificates", str(self.folder))
        serve = self._stack.enter_context(ServeSide(1, SECURED_CONFIG, options))
        self.bootstrap_servers = serve.bootstrap_servers
        return self
