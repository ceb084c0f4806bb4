"""The content of GET /metrics, under the names that the JMX exporter gives Kafka's metrics in Prometheus.

Names    kafka.network:type=RequestMetrics,name=TotalTimeMs is kafka_network_requestmetrics_totaltimems, and so on:
         domain, type and name in lower case. The broker is a label, since all are in one process. Metrics that Kafka
         lacks begin with fakebroker_.
Units    as Kafka's: times in milliseconds, sizes in bytes.
Source   docs/ops.html Monitoring @ 4.0; the exporter's example configuration for Kafka brokers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from fakebroker.control.groups import list_groups
from fakebroker.control.hosted import HostedCluster
from fakebroker.control.metrics.counts import PartitionCounts, count_partitions
from fakebroker.control.metrics.meter import PARTS, Meter

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NETWORK = "kafka_network_requestmetrics_"
_TOPICS = "kafka_server_brokertopicmetrics_"
_REPLICAS = "kafka_server_replicamanager_"
_CONTROLLER = "kafka_controller_kafkacontroller_"


async def exposition(here: HostedCluster) -> bytes:
    """Return all metrics of a cluster, as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Numbers(here, await count_partitions(here.core)))
    return generate_latest(registry)


class _Numbers(Collector):
    def __init__(self, here: HostedCluster, counts: PartitionCounts) -> None:
        self._here = here
        self._counts = counts

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        meter = self._here.told.meter
        yield from _requests(meter)
        yield from _topics(meter)
        yield from self._replicas(meter)
        yield from self._waiting()
        yield from self._cluster(meter)

    def _replicas(self, meter: Meter) -> Iterator[Metric]:
        core = self._here.core
        replica_counts = self._counts
        counts = {
            "partitioncount": replica_counts.hosted,
            "leadercount": replica_counts.led,
            "underreplicatedpartitions": replica_counts.under_replicated,
            "underminisrpartitioncount": replica_counts.under_min_isr,
        }
        for name, of_broker in counts.items():
            gauge = GaugeMetricFamily(_REPLICAS + name, f"ReplicaManager {name}", labels=("broker",))
            for broker_id in core.brokers:
                gauge.add_metric((str(broker_id),), of_broker[broker_id])
            yield gauge
        yield _by_broker(_REPLICAS + "isrshrinks", "IsrShrinksPerSec", meter.isr_shrinks)
        yield _by_broker(_REPLICAS + "isrexpands", "IsrExpandsPerSec", meter.isr_expands)
        yield _gauge(_CONTROLLER + "offlinepartitionscount", "partitions without a leader", replica_counts.offline)

    def _waiting(self) -> Iterator[Metric]:
        size = GaugeMetricFamily(
            "kafka_server_delayedoperationpurgatory_purgatorysize",
            "entries on all watch lists",
            labels=("broker", "delayedOperation"),
        )
        delayed = GaugeMetricFamily(
            "kafka_server_delayedoperationpurgatory_numdelayedoperations",
            "operations whose time runs",
            labels=("broker", "delayedOperation"),
        )
        expired = CounterMetricFamily(
            "kafka_server_delayedproducemetrics_expires",
            "DelayedProduceMetrics ExpiresPerSec, since the broker started",
            labels=("broker", "topic", "partition"),
        )
        fetches = CounterMetricFamily(
            "kafka_server_delayedfetchmetrics_expires",
            "DelayedFetchMetrics ExpiresPerSec, since the broker started",
            labels=("broker", "fetcherType"),
        )
        for broker_id, broker in self._here.core.brokers.items():
            replicas, label = broker.replicas, str(broker_id)
            for purgatory in (replicas.produce_purgatory, replicas.fetch_purgatory, replicas.deletion.purgatory):
                size.add_metric((label, purgatory.name), purgatory.watched())
                delayed.add_metric((label, purgatory.name), purgatory.num_delayed())
            for where, count in replicas.produce_expirations.items():
                expired.add_metric((label, where.topic, str(where.partition)), count)
            for kind, count in replicas.fetch_expirations.items():
                fetches.add_metric((label, kind), count)
        yield from (size, delayed, expired, fetches)

    def _cluster(self, meter: Meter) -> Iterator[Metric]:
        core = self._here.core
        connections = Counter(connection.broker_id for connection in self._here.driver.transports)
        gauge = GaugeMetricFamily(
            "kafka_server_socket_server_metrics_connection_count", "connections that are open", labels=("broker",)
        )
        for broker_id in core.brokers:
            gauge.add_metric((str(broker_id),), connections[broker_id])
        yield gauge
        yield _gauge(_CONTROLLER + "activebrokercount", "brokers that run", len(core.brokers))
        yield _gauge(
            _CONTROLLER + "fencedbrokercount", "brokers that do not", _fenced(core.registry.broker_ids, core.brokers)
        )
        yield _gauge(_CONTROLLER + "globaltopiccount", "topics", len(core.metadata.topics()))
        yield _gauge(_CONTROLLER + "globalpartitioncount", "partitions", self._counts.partitions)
        groups = GaugeMetricFamily(
            "kafka_coordinator_group_groupmetadatamanager_numgroups", "groups", labels=("broker", "state")
        )
        for (broker_id, state), count in Counter(
            (group.coordinator, group.state) for group in list_groups(core)
        ).items():
            groups.add_metric((str(broker_id), state), count)
        yield groups
        elections = CounterMetricFamily(
            "fakebroker_leaders_elected", "leaderships that began, or ended without another"
        )
        elections.add_metric((), meter.elections)
        yield elections
        yield from _logins(meter)
        yield _gauge("fakebroker_clock_elapsed_ms", "the broker's clock since the start", self._here.driver.elapsed_ms)


def _logins(meter: Meter) -> Iterator[Metric]:
    """Kafka's four counters. A client of TLS alone, or that chose no mechanism, has an empty one."""
    for has_succeeded, outcome in ((True, "successful"), (False, "failed")):
        for is_again, what in ((False, "authentication"), (True, "reauthentication")):
            family = CounterMetricFamily(
                f"kafka_server_socket_server_metrics_{outcome}_{what}",
                f"logins by SASL and by TLS: {outcome} {what}",
                labels=("broker", "listener", "mechanism"),
            )
            for (broker_id, listener, mechanism, succeeded, again), count in meter.logins.items():
                if (succeeded, again) == (has_succeeded, is_again):
                    family.add_metric((str(broker_id), listener, mechanism), count)
            yield family


def _requests(meter: Meter) -> Iterator[Metric]:
    for part in PARTS:
        family = HistogramMetricFamily(
            _NETWORK + part.lower(), f"RequestMetrics {part}", labels=("broker", "request"), unit=""
        )
        for (broker_id, api), times in meter.times.items():
            family.add_metric((str(broker_id), api), times[part].buckets(), times[part].sum_ms)
        yield family
    requests = CounterMetricFamily(
        _NETWORK + "requests", "RequestMetrics RequestsPerSec", labels=("broker", "request", "version")
    )
    for (broker_id, api, version), count in meter.requests.items():
        requests.add_metric((str(broker_id), api, str(version)), count)
    yield requests
    for name, help_text, sizes in (
        ("requestbytes", "RequestMetrics RequestBytes, all together", meter.request_bytes),
        ("responsebytes", "size of the answers, all together", meter.response_bytes),
    ):
        family_of_bytes = CounterMetricFamily(_NETWORK + name, help_text, labels=("broker", "request"))
        for (broker_id, api), size in sizes.items():
            family_of_bytes.add_metric((str(broker_id), api), size)
        yield family_of_bytes


def _topics(meter: Meter) -> Iterator[Metric]:
    for name, help_text, counts in (
        ("bytesin", "BytesInPerSec", meter.bytes_in),
        ("messagesin", "MessagesInPerSec", meter.messages_in),
        ("failedproducerequests", "FailedProduceRequestsPerSec", meter.failed_produce),
    ):
        family = CounterMetricFamily(_TOPICS + name, help_text, labels=("broker", "topic"))
        for (broker_id, topic), count in counts.items():
            family.add_metric((str(broker_id), topic), count)
        yield family
    out: Counter[int] = Counter()
    for (broker_id, api), size in meter.response_bytes.items():
        if api == "Fetch":
            out[broker_id] += size
    yield _by_broker(_TOPICS + "bytesout", "BytesOutPerSec of all topics: whole answers to Fetch", out)


def _by_broker(name: str, help_text: str, counts: Mapping[int, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, help_text, labels=("broker",))
    for broker_id, count in counts.items():
        family.add_metric((str(broker_id),), count)
    return family


def _gauge(name: str, help_text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, value)


def _fenced(all_ids: Iterable[int], running: Mapping[int, object]) -> int:
    return sum(1 for broker_id in all_ids if broker_id not in running)
