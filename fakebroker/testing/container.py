"""A replacement of testcontainers' `KafkaContainer` for existing tests: no Docker, no wait.

    from fakebroker.testing import KafkaContainer  # from testcontainers.kafka import KafkaContainer

    with KafkaContainer() as kafka:
        connection = kafka.get_bootstrap_server()

Source   testcontainers-python's modules/kafka: the parameters and results of `with_kraft`, `with_cluster_id`,
         `with_env`, `start` and `get_bootstrap_server`.
Differs  The image and all settings of Docker have no effect; running a program in the image is refused. `KAFKA_...`
         variables are settings of the broker, as in the images: KAFKA_MESSAGE_MAX_BYTES is message.max.bytes. Those for
         listeners are ignored.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, NoReturn, Self

from fakebroker.server.fake_cluster import FakeCluster

_PREFIX = "KAFKA_"
# Variables for the container or the listeners of its broker, which are ignored.
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
    """One broker, as in the container. `cluster` is the `FakeCluster`, once it is started."""

    def __init__(self, image: str = "", port: int = 9093, **kwargs: Any) -> None:
        self.image = image
        self.port = port  # the port inside the container, which is not used
        self.env: dict[str, str] = {}
        self.cluster_id = ""
        self.kraft_enabled = True
        self._host_port = 0
        self._cluster: FakeCluster | None = None
        env = kwargs.get("env")
        if isinstance(env, dict):
            self.with_envs(**env)

    def with_kraft(self) -> Self:
        """Do nothing: the broker always uses KRaft."""
        return self

    def with_cluster_id(self, cluster_id: str) -> Self:
        """Keep `cluster_id` in an attribute. Clients get the cluster's own id."""
        self.cluster_id = cluster_id
        return self

    def with_env(self, key: str, value: Any) -> Self:
        """Set a variable before the start: a `KAFKA_...` variable is a setting of the broker."""
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
        """Listen on this port of the host."""
        self._host_port = host or 0
        return self

    def with_command(self, command: object) -> Self:
        """Do nothing: there is no program to start."""
        return self

    def with_volume_mapping(self, host: str, container: str, mode: str = "ro") -> Self:
        """Do nothing: there is no program to read it. Use `with_env` for settings of the broker."""
        return self

    def with_exposed_ports(self, *ports: int) -> Self:
        return self

    @property
    def cluster(self) -> FakeCluster:
        """Return the cluster behind it: followers, clock, faults, journal. Raises RuntimeError before the start."""
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
        """Stop the broker, if it is started."""
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
        """Return host:port, for a client's configuration."""
        return self.cluster.bootstrap_servers

    def get_container_host_ip(self) -> str:
        return self.cluster.endpoints[0].host

    def get_exposed_port(self, port: int) -> int:
        """Return the broker's actual port; `port` is ignored."""
        return self.cluster.endpoints[0].port

    def get_logs(self) -> tuple[bytes, bytes]:
        """Return stdout and stderr: Kafka's line for a started broker, then the journal, one event per line. Raises
        RuntimeError before the start."""
        lines = [f"[KafkaServer id=1] started (kafka.server.KafkaServer) at {self.get_bootstrap_server()}"]
        return "".join(f"{line}\n" for line in (*lines, *self.cluster.journal)).encode(), b""

    def exec(self, command: object) -> NoReturn:
        """Raise NotImplementedError: there is no image to run a program of."""
        raise NotImplementedError(
            f"there is no container that could run {command!r}: `cluster` makes topics and alters settings "
            "(cluster.create_topic, cluster.alter_topic_configs), and tools outside of it connect to "
            "get_bootstrap_server()"
        )

    def _settings(self) -> dict[str, str]:
        """Return the settings of the broker, by Kafka's names."""
        settings = {}
        for key, value in self.env.items():
            name = key.removeprefix(_PREFIX).lower().replace("_", ".")
            if not key.startswith(_PREFIX) or name in _IDS or any(part in name for part in _NOT_ITS):
                continue
            settings[name] = value
        return settings
