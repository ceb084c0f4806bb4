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
        doc="broker, controller or both; where there is no broker, nothing can be served",
    )
    node_id = IntOrNone(
        INT,
        None,
        at_least(0),
        by="server/made/addresses",
        doc="of the only broker, where nothing else says how many there are",
    )
    controller_listener_names = StringsOrNone(
        LIST, None, some_of(), by="server/made/addresses", doc="the listeners of controllers: they are not opened"
    )
    initial_broker_registration_timeout_ms = Setting(
        INT, 60_000, doc="a broker ends when it could not register for so long"
    )
    broker_heartbeat_interval_ms = Setting(INT, 2000, doc="how often a broker tells the controller that it lives")
    broker_session_timeout_ms = Setting(
        INT, 9000, by="core/controller/cluster_control", doc="a broker that did not for so long is fenced"
    )
    sasl_mechanism_controller_protocol = Setting(STRING, "GSSAPI", doc="SASL mechanism towards controllers")
    controller_performance_sample_period_ms = Setting(
        LONG, 60_000, at_least(100), doc="how often the controller tells how long its events took"
    )
    controller_performance_always_log_threshold_ms = Setting(
        LONG, 2000, at_least(0), doc="an event that took longer is told at once"
    )
    server_max_startup_time_ms = Setting(LONG, _MAX_LONG, at_least(0), doc="how long a start may take")
    metadata_log_dir = StrOrNone(STRING, None, doc="where the log of metadata lies; the first of log.dirs if not set")
    metadata_log_segment_bytes = Setting(INT, 1_073_741_824, at_least(8_388_608), doc="size of its segments")
    metadata_log_segment_ms = Setting(LONG, 604_800_000, doc="time until a new segment of it")
    metadata_log_max_record_bytes_between_snapshots = Setting(
        LONG, 20_971_520, at_least(1), doc="a snapshot is made after so much of it"
    )
    metadata_log_max_snapshot_interval_ms = Setting(LONG, 3_600_000, at_least(0), doc="and after so long")
    metadata_max_retention_bytes = Setting(LONG, 104_857_600, doc="how much of it is kept")
    metadata_max_retention_ms = Setting(LONG, 604_800_000, doc="and for how long")
    metadata_max_idle_interval_ms = Setting(
        INT, 500, at_least(0), doc="how often the active controller writes a record that says nothing"
    )
    internal_metadata_log_segment_bytes = IntOrNone(INT, None, doc="for Kafka's own tests")
    internal_metadata_max_batch_size_in_bytes = Setting(INT, 8_388_608, doc="size of a batch in it")
    internal_metadata_delete_delay_millis = Setting(LONG, 60_000, doc="how long deleted files of it stay")
    controller_quorum_voters = Strings(LIST, (), voters, doc="the controllers that vote, as ID@HOST:PORT")
    controller_quorum_bootstrap_servers = Strings(
        LIST, (), bootstrap_servers, doc="where to find the controllers, as HOST:PORT"
    )
    controller_quorum_election_timeout_ms = Setting(
        INT, 1000, at_least(0), doc="how long a candidate waits before it begins a new election"
    )
    controller_quorum_fetch_timeout_ms = Setting(
        INT, 2000, at_least(0), doc="a controller that could not fetch for so long becomes a candidate"
    )
    controller_quorum_election_backoff_max_ms = Setting(
        INT, 1000, at_least(0), doc="how long a candidate that lost pauses at most"
    )
    controller_quorum_append_linger_ms = Setting(
        INT, 25, at_least(0), doc="how long the leader gathers records before it writes"
    )
    controller_quorum_request_timeout_ms = Setting(
        INT, 2000, at_least(0), doc="how long a controller waits for an answer"
    )
    controller_quorum_retry_backoff_ms = Setting(INT, 20, at_least(0), doc="how long it pauses before it asks again")
    controller_quorum_auto_join_enable = Setting(BOOLEAN, False, doc="a new controller joins the voters on its own")
    controller_quorum_fetch_snapshot_max_bytes = Setting(
        INT, 1_048_576, at_least(1), doc="what a controller asks for of a snapshot at once"
    )
    controller_quorum_fetch_max_bytes = Setting(
        INT, 1_048_576, at_least(1), doc="what a controller asks for of the log at once"
    )
    unstable_api_versions_enable = Setting(BOOLEAN, False, doc="serve versions of APIs that are not final")
    unstable_feature_versions_enable = Setting(BOOLEAN, False, doc="allow versions of features that are not final")
