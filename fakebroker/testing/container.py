"""In place of testcontainers' `KafkaContainer`, for tests that are written for it: no Docker, no wait.

    from fakebroker.testing import KafkaContainer  # from testcontainers.kafka import KafkaContainer

    with KafkaContainer() as kafka:
        connection = kafka.get_bootstrap_server()

Source   testcontainers-python's modules/kafka: what `with_kraft`, `with_cluster_id`, `with_env`, `start` and
         `get_bootstrap_server` are called with, and what they give.
Differs  The image, and whatever is asked of Docker, has no effect; to run a program in it is refused. `KAFKA_...`
         variables are settings of the broker, as in the images: KAFKA_MESSAGE_MAX_BYTES is message.max.bytes. Those
         that say where to listen are left out.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, NoReturn, Self

from fakebroker.server.fake_cluster import FakeCluster

_PREFIX = "KAFKA_"
# What is said to the container, and not to the broker that it has; or where that one listens.
_NOT_ITS = (
    "advertised",
    "cluster.id",
    "controller",
    "heap",
    "inter.broker",
    "jmx",
    "jvm",
    "listener",
    "log4j",
    "opts",
    "process.roles",
    "zookeeper",
)
_IDS = ("broker.id", "node.id")


class KafkaContainer:
    """One broker, like the container has. `cluster` is the `FakeCluster`, once it has been started."""

    def __init__(self, image: str = "", port: int = 9093, **kwargs: Any) -> None:
        self.image = image
        self.port = port  # inside of the container, where nobody is
        self.env: dict[str, str] = {}
        self.cluster_id = ""
        self.kraft_enabled = True
        self._host_port = 0
        self._cluster: FakeCluster | None = None
        env = kwargs.get("env")
        if isinstance(env, dict):
            self.with_envs(**env)

    def with_kraft(self) -> Self:
        """It is with KRaft in any case."""
        return self

    def with_cluster_id(self, cluster_id: str) -> Self:
        """Kept in `cluster_id`. What clients are told is the cluster's own."""
        self.cluster_id = cluster_id
        return self

    def with_env(self, key: str, value: Any) -> Self:
        """A setting of the broker, if it is `KAFKA_...`: of what is asked for before the start."""
        self.env[key] = str(value)
        return self

    def with_envs(self, **variables: Any) -> Self:
        for key, value in variables.items():
            self.with_env(key, value)
        return self

    def with_network(self, network: object) -> Self:
        return self

    def with_network_aliases(self, *aliases: str) -> Self:
        return self

    def with_name(self, name: str) -> Self:
        return self

    def with_kwargs(self, **kwargs: Any) -> Self:
        return self

    def with_bind_ports(self, container: int, host: int | None = None) -> Self:
        """Listen on the port of the host."""
        self._host_port = host or 0
        return self

    def with_command(self, command: object) -> Self:
        """There is nothing that it could start."""
        return self

    def with_volume_mapping(self, host: str, container: str, mode: str = "ro") -> Self:
        """There is nothing that could read it: settings of the broker are given by `with_env`."""
        return self

    def with_exposed_ports(self, *ports: int) -> Self:
        return self

    @property
    def cluster(self) -> FakeCluster:
        """What there is behind it: followers, clock, faults, journal. Raises RuntimeError before the start."""
        if self._cluster is None:
            raise RuntimeError("the container has not been started: use it in a `with` block, or call start()")
        return self._cluster

    def start(self, timeout: float = 30) -> Self:
        """Start the broker. Raises KafkaError for a bad setting."""
        if self._cluster is None:
            cluster = FakeCluster(brokers=1, port=self._host_port, config=self._settings())
            cluster.start()
            self._cluster = cluster
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        """Stop it; nothing happens if it is stopped."""
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def get_bootstrap_server(self) -> str:
        """host:port, for a client's configuration."""
        return self.cluster.bootstrap_servers

    def get_container_host_ip(self) -> str:
        return self.cluster.endpoints[0].host

    def get_exposed_port(self, port: int) -> int:
        """Where the broker listens, whatever it is inside of the container."""
        return self.cluster.endpoints[0].port

    def get_logs(self) -> tuple[bytes, bytes]:
        """What came to stdout and stderr: that the broker has started, in Kafka's words, and the journal, one event a
        line. Raises RuntimeError before the start."""
        lines = [f"[KafkaServer id=1] started (kafka.server.KafkaServer) at {self.get_bootstrap_server()}"]
        return "".join(f"{line}\n" for line in (*lines, *self.cluster.journal)).encode(), b""

    def exec(self, command: object) -> NoReturn:
        """Raise NotImplementedError: a program of the image would have run where no image is."""
        raise NotImplementedError(
            f"there is no container that could run {command!r}: `cluster` makes topics and alters settings "
            "(cluster.create_topic, cluster.alter_topic_configs), and tools outside of it connect to "
            "get_bootstrap_server()"
        )

    def _settings(self) -> dict[str, str]:
        """Those of the broker, by Kafka's names."""
        settings = {}
        for key, value in self.env.items():
            name = key.removeprefix(_PREFIX).lower().replace("_", ".")
            if not key.startswith(_PREFIX) or name in _IDS or any(part in name for part in _NOT_ITS):
                continue
            settings[name] = value
        return settings
