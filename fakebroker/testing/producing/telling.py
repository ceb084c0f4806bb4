"""The text of a timeline's event: one line for a reader."""

from __future__ import annotations

from collections.abc import Collection

from fakebroker.core.journal import broker_events as of_brokers
from fakebroker.core.journal import events as broker
from fakebroker.core.journal.fault_events import FaultFired
from fakebroker.core.security.identity import ANONYMOUS
from fakebroker.producer.journal import events as producer
from fakebroker.producer.journal.events import ProducerEvent, name_of

_SAID_OF_BROKERS: dict[type[broker.Event], str] = {
    of_brokers.BrokerStopping: "told to stop",
    of_brokers.BrokerStopped: "stopped",
    of_brokers.BrokerKilled: "killed",
    of_brokers.BrokerPaused: "stands still",
    of_brokers.BrokerResumed: "goes on",
    of_brokers.MetadataCaughtUp: "hears what it missed",
    of_brokers.BrokerStarting: "starting",
    of_brokers.BrokerStarted: "started",
    of_brokers.BrokerUnfenced: "takes part",
}


def told_of(event: ProducerEvent | broker.Event, partitions: Collection[tuple[str, int]] | None = None) -> str:
    """Return the text of an event. `partitions` selects the results of a response; None means all."""
    if isinstance(event, ProducerEvent):
        return _told_by_producer(event, partitions)
    return _told_by_broker(event, partitions)


def _told_by_producer(event: ProducerEvent, partitions: Collection[tuple[str, int]] | None) -> str:
    match event:
        case producer.RecordSent():
            key = "" if event.key is None else f", key {event.key!r}"
            return f"record {event.record} sent to {_place(event.topic, event.partition)}{key}, {event.size} bytes"
        case producer.RecordBlocked():
            return f"record {event.record} waits for {event.waits_for}"
        case producer.RecordUnblocked():
            return f"record {event.record} has waited {event.waited_ms} ms for {event.waits_for}"
        case producer.RecordAppended():
            new = ", which it begins" if event.is_new_batch else ""
            where = f"{event.topic}-{event.partition}"
            return f"record {event.record} appended to batch {event.batch} of {where}{new}"
        case producer.RecordRefused():
            return f"record {event.record} {'thrown back' if event.is_thrown else 'refused'}: {event.message}"
        case producer.RecordCalledBack(error="NONE"):
            return f"record {event.record} called back: {event.topic}-{event.partition}, offset {event.offset}"
        case producer.RecordCalledBack():
            return f"record {event.record} called back: {event.error}"
        case producer.BatchDrained():
            sequence = f", sequence {event.base_sequence}" if event.base_sequence >= 0 else ""
            return f"batch {event.batch} drained for node {event.node}, {_count(event.records)}{sequence}"
        case producer.BatchRetried():
            return f"batch {event.batch} queued again: {event.error}, attempt {event.attempts} failed"
        case producer.BatchSplit():
            return f"batch {event.batch} split into {', '.join(str(batch) for batch, _ in event.pieces)}"
        case producer.BatchExpired():
            place = ", in flight" if event.was_in_flight else ""
            return f"batch {event.batch} expired here{place}: {event.message}"
        case producer.BatchResequenced():
            return f"batch {event.batch} has sequence {event.base_sequence} in place of {event.old_base_sequence}"
        case producer.RequestSent():
            return f"{event.api} v{event.version} sent to node {event.node}{_asked(event.acks, event.timeout_ms)}"
        case producer.AnswerReceived():
            return "answer received"
        case producer.ResponseHandled():
            answers = [one for one in event.partitions if partitions is None or one[:2] in partitions]
            said = "; ".join(_answer(*one) for one in answers)
            return f"{event.outcome}, handled" + (f": {said}" if said else "")
        case producer.Disconnected():
            return f"connection to node {event.node} gone: {event.reason}"
        case producer.ProducerIdChanged(producer_id=-1):
            return "gives its producer id up"
        case producer.ProducerIdChanged():
            return f"writes as producer {event.producer_id}, epoch {event.producer_epoch}"
    return name_of(event).replace("_", " ")


def _told_by_broker(event: broker.Event, partitions: Collection[tuple[str, int]] | None) -> str:
    match event:
        case broker.Request():
            waited_ms = event.mono_ms - event.received_mono_ms
            whose = "" if event.principal == str(ANONYMOUS) else f" for {event.principal}"
            late = f", {waited_ms} ms after it came" if waited_ms else ""
            return f"{event.api} v{event.version} handled{whose}{late}"
        case broker.Append():
            where = f"{event.topic}-{event.partition}"
            if event.error != broker.NO_ERROR:
                return f"not appended to {where}: {event.error}"
            offsets = f"offset {event.base_offset}"
            if event.last_offset > event.base_offset:
                offsets = f"offsets {event.base_offset} to {event.last_offset}"
            return f"{'in the log already' if event.is_duplicate else 'appended'}: {where}, {offsets}"
        case broker.Parked():
            return f"parked, for at most {event.timeout_ms} ms"
        case broker.Completed():
            return "what it waited for is there"
        case broker.Expired():
            return "expired here: its time is over"
        case broker.Answer():
            answers = [one for one in event.partitions if partitions is None or one[:2] in partitions]
            said = "; ".join(_answer(*one) for one in answers)
            gone = {"dropped": "no answer, the client had gone", "none": "done, acks=0 has no answer"}
            return gone.get(event.outcome, "answered") + (f": {said}" if said else "")
        case broker.LeaderChanged(leader=-1):
            return f"no broker leads {_place(event.topic, event.partition)}"
        case broker.LeaderChanged():
            return f"leads {_place(event.topic, event.partition)} in epoch {event.leader_epoch}"
        case broker.IsrChanged():
            return f"in sync on {_place(event.topic, event.partition)}: {', '.join(map(str, event.isr))}"
        case broker.Produce():
            targets = ", ".join(_place(*one) for one in event.partitions)
            return f"asks for {targets}{_asked(event.acks, event.timeout_ms)}"
        case broker.WatermarkMoved():
            where = f"{event.topic}-{event.partition}"
            return f"high watermark of {where}: {event.high_watermark}, its log ends at {event.log_end_offset}"
        case broker.Throttled():
            return f"connection {event.connection} throttled for {event.throttle_time_ms} ms"
        case of_brokers.LeaderStale():
            return f"does not hear that it leads {_place(event.topic, event.partition)} no more"
        case of_brokers.BrokerFenced():
            return f"fenced: {event.reason}"
        case FaultFired():
            return f"fault {event.fault}: {event.done}"
    return _SAID_OF_BROKERS.get(type(event), type(event).__name__)


def _place(topic: str, partition: int) -> str:
    return topic if partition < 0 else f"{topic}-{partition}"


def _count(records: int) -> str:
    return "1 record" if records == 1 else f"{records} records"


def _asked(acks: int, timeout_ms: int) -> str:
    return f", acks={'all' if acks < 0 else acks}, timeout {timeout_ms} ms" if timeout_ms >= 0 else ""


def _answer(topic: str, partition: int, error: str, base_offset: int) -> str:
    return f"{topic}-{partition} {error}" + (f", base offset {base_offset}" if base_offset >= 0 else "")
