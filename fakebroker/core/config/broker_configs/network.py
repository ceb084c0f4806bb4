"""Settings of brokers: connections, sockets, threads.

Source   SocketServerConfigs.java, ServerConfigs.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.broker_configs.helpers import addresses, endpoints, protocols
from fakebroker.core.config.config_def import INT, LIST, LONG, STRING, at_least, some_of
from fakebroker.core.config.setting import CLUSTER_WIDE, PER_BROKER, Setting, Strings, StringsOrNone, StrOrNone

_MAX_INT = 2**31 - 1


class NetworkConfigs:
    """Listeners, connections, sockets, threads."""

    listeners = Strings(
        LIST,
        ("PLAINTEXT://:9092",),
        endpoints,
        mode=PER_BROKER,
        by="server/made/addresses",
        doc="addresses on which the broker listens (default: from --host and --port)",
    )
    advertised_listeners = StringsOrNone(
        LIST, None, endpoints, by="server/made/addresses", doc="addresses that clients get in metadata"
    )
    listener_security_protocol_map = Setting(
        STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        protocols,
        mode=PER_BROKER,
        by="server/made/addresses",
        doc="security protocol of each listener",
    )
    early_start_listeners = StringsOrNone(
        LIST, None, some_of(may_be_empty=True), doc="listeners that open before the authorizer is ready"
    )
    socket_send_buffer_bytes = Setting(
        INT, 102_400, doc="SO_SNDBUF of connections, in bytes; -1 is the system's default"
    )
    socket_receive_buffer_bytes = Setting(
        INT, 102_400, doc="SO_RCVBUF of connections, in bytes; -1 is the system's default"
    )
    socket_request_max_bytes = Setting(
        INT,
        104_857_600,
        at_least(1),
        by="network/socket_server",
        doc="largest request; a larger one closes its connection",
    )
    socket_listen_backlog_size = Setting(INT, 50, at_least(1), doc="connections that may wait to be accepted")
    socket_connection_setup_timeout_ms = Setting(
        LONG, 10_000, doc="time for which a broker tries to connect to another broker"
    )
    socket_connection_setup_timeout_max_ms = Setting(
        LONG, 30_000, doc="longest connection setup timeout after repeated failures"
    )
    max_connections = Setting(
        INT,
        _MAX_INT,
        at_least(0),
        mode=CLUSTER_WIDE,
        by="network/open_connections",
        doc="most connections of a broker; others wait until one closes",
    )
    max_connections_per_ip = Setting(
        INT,
        _MAX_INT,
        at_least(0),
        mode=CLUSTER_WIDE,
        by="network/open_connections",
        doc="most connections from one address to a broker; others are closed at once",
    )
    max_connections_per_ip_overrides = Setting(
        STRING,
        "",
        addresses,
        mode=CLUSTER_WIDE,
        by="network/open_connections",
        doc="most connections of single addresses, as ADDRESS:COUNT",
    )
    max_connection_creation_rate = Setting(
        INT,
        _MAX_INT,
        at_least(0),
        mode=CLUSTER_WIDE,
        by="network/open_connections",
        doc="new connections of a broker for each second",
    )
    connections_max_idle_ms = Setting(
        LONG,
        600_000,
        by="network/socket_server",
        doc="time without reads and writes after which a connection is closed; negative: never",
    )
    connection_failed_authentication_delay_ms = Setting(
        INT,
        100,
        at_least(0),
        by="network/socket_server",
        doc="time for which a connection stays open after a failed authentication",
    )
    queued_max_requests = Setting(INT, 500, at_least(1), doc="waiting requests above which no more are read")
    queued_max_request_bytes = Setting(
        LONG,
        -1,
        by="network/socket_server",
        doc="bytes of waiting requests above which no more are read; -1 is no limit",
    )
    num_network_threads = Setting(INT, 3, at_least(1), mode=CLUSTER_WIDE, doc="threads that read and write")
    num_io_threads = Setting(INT, 8, at_least(1), mode=CLUSTER_WIDE, doc="threads that handle requests")
    background_threads = Setting(INT, 10, at_least(1), mode=CLUSTER_WIDE, doc="threads for background tasks")
    request_timeout_ms = Setting(
        INT,
        30_000,
        by="core/transactions/service",
        doc="time for which a broker waits for a response of another broker",
    )
    max_request_partition_size_limit = Setting(
        INT,
        2000,
        at_least(1),
        by="apis/partitions/describe_topic_partitions",
        doc="most partitions in a DescribeTopicPartitions response",
    )
    max_incremental_fetch_session_cache_slots = Setting(
        INT,
        1000,
        at_least(0),
        by="core/broker/broker",
        doc="fetch sessions that a broker keeps, an eighth in each of 8 shards",
    )
    broker_id = Setting(INT, -1, by="server/made/addresses", doc="old name of node.id")
    broker_rack = StrOrNone(STRING, None, by="cluster/members", doc="rack of the broker, for rack-aware placement")
    config_providers = Strings(
        LIST, (), some_of(may_be_empty=True), mode=CLUSTER_WIDE, doc="names of plugins that replace variables in values"
    )
