"""Settings of brokers: the controllers and their log.

Source   KRaftConfigs.java, QuorumConfig.java @ 4.4 (read out of the released jars).
Units    as the names say; sizes are bytes.
"""

from __future__ import annotations

from fakebroker.core.config.broker_configs.helpers import bootstrap_servers, voters
from fakebroker.core.config.config_def import BOOLEAN, INT, LIST, LONG, STRING, at_least, some_of
from fakebroker.core.config.setting import IntOrNone, Setting, Strings, StringsOrNone, StrOrNone

_MAX_LONG = 2**63 - 1


class ControllerConfigs:
    """KRaft: the quorum that decides, and the log of its decisions."""

    # In Kafka these three have to be given.
    process_roles = StringsOrNone(
        LIST,
        None,
        some_of("broker", "controller"),
        by="server/made/addresses",
        doc="roles of the process: broker, controller or both; without broker nothing can be served",
    )
    node_id = IntOrNone(
        INT,
        None,
        at_least(0),
        by="server/made/addresses",
        doc="id of the only broker, if no option gives the number of brokers or their ids",
    )
    controller_listener_names = StringsOrNone(
        LIST,
        None,
        some_of(),
        by="server/made/addresses",
        doc="names of the controllers' listeners, which are not opened",
    )
    initial_broker_registration_timeout_ms = Setting(
        INT, 60_000, doc="time without a registration after which a broker ends"
    )
    broker_heartbeat_interval_ms = Setting(INT, 2000, doc="interval of a broker's heartbeats to the controller")
    broker_session_timeout_ms = Setting(
        INT,
        9000,
        by="core/controller/cluster_control",
        doc="time without a heartbeat after which the controller fences a broker",
    )
    sasl_mechanism_controller_protocol = Setting(STRING, "GSSAPI", doc="SASL mechanism of connections to controllers")
    controller_performance_sample_period_ms = Setting(
        LONG, 60_000, at_least(100), doc="interval at which the controller logs the duration of its events"
    )
    controller_performance_always_log_threshold_ms = Setting(
        LONG, 2000, at_least(0), doc="duration above which an event of the controller is logged at once"
    )
    server_max_startup_time_ms = Setting(LONG, _MAX_LONG, at_least(0), doc="longest time of a start")
    metadata_log_dir = StrOrNone(STRING, None, doc="folder of the metadata log (default: the first of log.dirs)")
    metadata_log_segment_bytes = Setting(
        INT, 1_073_741_824, at_least(8_388_608), doc="segment size of the metadata log"
    )
    metadata_log_segment_ms = Setting(LONG, 604_800_000, doc="time after which the metadata log starts a new segment")
    metadata_log_max_record_bytes_between_snapshots = Setting(
        LONG, 20_971_520, at_least(1), doc="bytes of metadata records after which a snapshot is made"
    )
    metadata_log_max_snapshot_interval_ms = Setting(
        LONG, 3_600_000, at_least(0), doc="time after which a snapshot of the metadata is made"
    )
    metadata_max_retention_bytes = Setting(
        LONG, 104_857_600, doc="size of the metadata log and its snapshots above which old ones are deleted"
    )
    metadata_max_retention_ms = Setting(
        LONG, 604_800_000, doc="age above which metadata log segments and snapshots are deleted"
    )
    metadata_max_idle_interval_ms = Setting(
        INT, 500, at_least(0), doc="interval at which the active controller writes a no-op record"
    )
    internal_metadata_log_segment_bytes = IntOrNone(
        INT, None, doc="segment size of the metadata log, for Kafka's own tests"
    )
    internal_metadata_max_batch_size_in_bytes = Setting(INT, 8_388_608, doc="largest batch of the metadata log")
    internal_metadata_delete_delay_millis = Setting(
        LONG, 60_000, doc="time for which deleted files of the metadata log stay"
    )
    controller_quorum_voters = Strings(LIST, (), voters, doc="voting controllers, as ID@HOST:PORT")
    controller_quorum_bootstrap_servers = Strings(
        LIST, (), bootstrap_servers, doc="addresses of the controllers, as HOST:PORT"
    )
    controller_quorum_election_timeout_ms = Setting(
        INT, 1000, at_least(0), doc="time without a leader after which a candidate starts a new election"
    )
    controller_quorum_fetch_timeout_ms = Setting(
        INT, 2000, at_least(0), doc="time without a successful fetch after which a controller becomes a candidate"
    )
    controller_quorum_election_backoff_max_ms = Setting(
        INT, 1000, at_least(0), doc="longest pause of a candidate that lost an election"
    )
    controller_quorum_append_linger_ms = Setting(
        INT, 25, at_least(0), doc="time for which the active controller collects records before it writes"
    )
    controller_quorum_request_timeout_ms = Setting(
        INT, 2000, at_least(0), doc="time for which a controller waits for a response"
    )
    controller_quorum_retry_backoff_ms = Setting(
        INT, 20, at_least(0), doc="pause before a controller repeats a request"
    )
    controller_quorum_auto_join_enable = Setting(
        BOOLEAN, False, doc="whether a new controller joins the voters by itself"
    )
    controller_quorum_fetch_snapshot_max_bytes = Setting(
        INT, 1_048_576, at_least(1), doc="most bytes that one fetch of a snapshot requests"
    )
    controller_quorum_fetch_max_bytes = Setting(
        INT, 1_048_576, at_least(1), doc="most bytes that one fetch of the metadata log requests"
    )
    unstable_api_versions_enable = Setting(BOOLEAN, False, doc="whether API versions that are not final are served")
    unstable_feature_versions_enable = Setting(
        BOOLEAN, False, doc="whether feature versions that are not final are allowed"
    )
