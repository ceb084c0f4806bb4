"""The content of a drawing of a timeline: rows with bars and marks, and arrows between them; picture.py draws it.

Theory   A producer has a row for each batch (from its first record to its end). It also has one for each record with a
         blocked sender, and one for each node with a lost connection. A broker has a row for each Produce (from its
         sending to its response), and for each event of the broker itself.
Units    milliseconds since the first step.
"""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.core.journal import broker_events as of_brokers
from fakebroker.core.journal import events as heard
from fakebroker.producer.journal import events as told
from fakebroker.testing.producing.shapes import BAD, GOOD, OPEN, Arrow, Bar, RowGroup, RowMark, TimelineRow
from fakebroker.testing.producing.timeline import TimelineStep

_BEGINS_DOWN = (of_brokers.BrokerKilled, of_brokers.BrokerStopped, of_brokers.BrokerPaused)
_ENDS_DOWN = (of_brokers.BrokerStarted, of_brokers.BrokerResumed)


class Drawing:
    """A drawing, with producers first. `now_ms` is the current time if requests may still be parked."""

    def __init__(self, steps: Sequence[TimelineStep], now_ms: int | None = None) -> None:
        self.end_ms = max(steps[-1].elapsed_ms if steps else 0, now_ms or 0)
        self._now_ms = now_ms
        self.arrows: list[Arrow] = []
        self._groups: dict[str, RowGroup] = {}
        self._batches: dict[tuple[str, int], TimelineRow] = {}
        self._counts: dict[tuple[str, int], list[int]] = {}  # the records of each batch
        self._ended: dict[tuple[str, int], None] = {}  # used as an ordered set
        self._records: dict[tuple[str, int], TimelineRow] = {}
        self._links: dict[tuple[str, int], TimelineRow] = {}
        self._requests: dict[tuple[str, int], TimelineRow] = {}
        self._sent: dict[tuple[str, int], told.RequestSent] = {}
        self._clients: dict[int, str] = {}  # by connection
        self._throttles: dict[int, TimelineRow] = {}
        self._asked: dict[int, tuple[str, int]] = {}
        events = [step.event for step in steps]
        appended = (event for event in events if isinstance(event, told.RecordAppended))
        self._has_partitions = len({(event.topic, event.partition) for event in appended}) > 1
        self._has_producers = len({event.producer for event in events if isinstance(event, told.RequestSent)}) > 1
        for step in steps:
            self._take(step)
        self._finish()

    @property
    def groups(self) -> list[RowGroup]:
        shown = [group for group in self._groups.values() if group.rows or group.down]
        return sorted(shown, key=lambda group: (group.is_broker, group.name if group.is_broker else ""))

    def _group(self, name: str, is_broker: bool) -> RowGroup:
        return self._groups.setdefault(name, RowGroup(name, is_broker))

    def _new_row(self, group: RowGroup, label: str, at_ms: int) -> TimelineRow:
        row = TimelineRow(label, at_ms)
        group.rows.append(row)
        return row

    def _take(self, step: TimelineStep) -> None:
        """Apply a step. Most events are not drawn."""
        event, at_ms = step.event, step.elapsed_ms
        if isinstance(event, of_brokers.BrokerEvent | heard.LeaderChanged):
            self._told_of_broker(event, at_ms, step)
        match event:
            case told.RecordBlocked():
                self._record_blocked(event, at_ms)
            case told.RecordUnblocked():
                self._record_unblocked(event, at_ms)
            case told.RecordRefused():
                self._record_refused(event, at_ms)
            case told.RecordAppended():
                self._record_appended(event, at_ms)
            case told.RecordCalledBack():
                self._record_called_back(event, at_ms)
            case told.BatchExpired():
                self._batch_expired(event, at_ms)
            case told.BatchRetried():
                self._batch_retried(event, at_ms)
            case told.BatchSplit():
                self._batch_split(event, at_ms)
            case told.Disconnected():
                self._disconnected(event, at_ms)
            case told.RequestSent():
                self._request_sent(event, at_ms)
            case heard.Throttled():
                self._throttled(event, at_ms)
            case heard.Request():
                self._handled(event, at_ms)
            case heard.Parked():
                self._parked(event, at_ms)
            case heard.Answer():
                self._answer(event, at_ms)
            case told.ResponseHandled():
                self._response_handled(event, at_ms)

    # Producers.

    def _record_blocked(self, event: told.RecordBlocked, at_ms: int) -> None:
        key = event.producer, event.record
        if key not in self._records:
            group = self._group(event.producer, False)
            self._records[key] = self._new_row(group, f"send of record {event.record}", at_ms)
        self._records[key].begin("blocked", at_ms)
        self._records[key].say(f"waits for {event.waits_for}", OPEN)

    def _record_unblocked(self, event: told.RecordUnblocked, at_ms: int) -> None:
        row = self._records.get((event.producer, event.record))
        if row is not None:
            row.end(at_ms)
            row.say(f"waited {event.waited_ms:,} ms for {event.waits_for}", OPEN)

    def _record_refused(self, event: told.RecordRefused, at_ms: int) -> None:
        key = event.producer, event.record
        if key not in self._records:
            group = self._group(event.producer, False)
            self._records[key] = self._new_row(group, f"send of record {event.record}", at_ms)
        row = self._records[key]
        row.end(at_ms)
        row.marks.append(RowMark(at_ms, "failed"))
        row.say(f"{event.error} at {at_ms:,} ms", BAD)

    def _record_appended(self, event: told.RecordAppended, at_ms: int) -> None:
        key = event.producer, event.batch
        self._counts.setdefault(key, []).append(event.record)
        if key not in self._batches:
            where = f", {event.topic}-{event.partition}" if self._has_partitions else ""
            row = self._new_row(self._group(event.producer, False), f"batch {event.batch}{where}", at_ms)
            row.begin("queued", at_ms)
            self._batches[key] = row

    def _record_called_back(self, event: told.RecordCalledBack, at_ms: int) -> None:
        for key, records in self._counts.items():
            if key[0] == event.producer and event.record in records and key not in self._ended:
                self._end_batch(key, event, at_ms)

    def _end_batch(self, key: tuple[str, int], event: told.RecordCalledBack, at_ms: int) -> None:
        self._ended[key] = None
        row = self._batches[key]
        row.end(at_ms)
        if event.error == "NONE":
            row.marks.append(RowMark(at_ms, "done"))
            offset = f", offset {event.offset:,}" if event.offset >= 0 else ""
            row.say(f"called back at {at_ms:,} ms{offset}", GOOD)
        elif not any(mark.kind == "expired" for mark in row.marks):
            row.marks.append(RowMark(at_ms, "failed"))
            row.say(f"{event.error} at {at_ms:,} ms", BAD)

    def _batch_expired(self, event: told.BatchExpired, at_ms: int) -> None:
        row = self._batches.get((event.producer, event.batch))
        if row is not None:
            row.marks.append(RowMark(at_ms, "expired"))
            place = " in flight" if event.was_in_flight else ""
            row.say(f"expired{place} at {at_ms:,} ms: {event.since}", BAD)

    def _batch_retried(self, event: told.BatchRetried, at_ms: int) -> None:
        row = self._batches.get((event.producer, event.batch))
        if row is not None:
            row.begin("queued", at_ms)
            row.marks.append(RowMark(at_ms, "again"))
            row.say(f"{event.error} at {at_ms:,} ms, queued again", OPEN)

    def _batch_split(self, event: told.BatchSplit, at_ms: int) -> None:
        row = self._batches.get((event.producer, event.batch))
        if row is None:
            return
        row.end(at_ms)
        row.say(f"split at {at_ms:,} ms", OPEN)
        records = self._counts.pop((event.producer, event.batch))
        for batch, count in event.pieces:
            piece = self._new_row(self._group(event.producer, False), f"batch {batch}, of {event.batch}", at_ms)
            piece.begin("queued", at_ms)
            self._batches[event.producer, batch] = piece
            self._counts[event.producer, batch], records = records[:count], records[count:]

    def _disconnected(self, event: told.Disconnected, at_ms: int) -> None:
        if event.reason == "closed":
            return
        key = event.producer, event.node
        if key not in self._links:
            label = f"connection to node {event.node}" if event.node >= 0 else "bootstrap connection"
            self._links[key] = self._new_row(self._group(event.producer, False), label, at_ms)
        row = self._links[key]
        row.marks.append(RowMark(at_ms, "lost"))
        times = sum(mark.kind == "lost" for mark in row.marks)
        row.say(f"{event.reason}" + (f", {times} times" if times > 1 else f" at {at_ms:,} ms"), BAD)

    # Requests.

    def _request_sent(self, event: told.RequestSent, at_ms: int) -> None:
        if not event.batches:
            return
        key = event.producer, event.correlation_id
        whose = f" of {event.producer}" if self._has_producers else ""
        label = f"request {event.correlation_id}{whose}"
        row = self._new_row(self._group(f"broker {event.node}", True), label, at_ms)
        row.begin("unread", at_ms)
        row.say("never read", OPEN)
        self._requests[key], self._sent[key] = row, event
        for batch in self._batches_of(event):
            batch.begin("flying", at_ms)
            self.arrows.append(Arrow(batch, at_ms, row, at_ms, OPEN))

    def _batches_of(self, event: told.RequestSent) -> list[TimelineRow]:
        keys = ((event.producer, batch) for batch in event.batches)
        return [self._batches[key] for key in keys if key in self._batches and key not in self._ended]

    def _handled(self, event: heard.Request, at_ms: int) -> None:
        self._clients[event.connection] = event.client_id or ""
        key = self._key_of(event)
        if key is None:
            if event.api != "Produce":
                return
            key = f"request {event.request}", event.correlation_id  # of a producer without a journal here
            came_ms = at_ms - (event.mono_ms - event.received_mono_ms)
            row = self._new_row(
                self._group(f"broker {event.broker}", True),
                f"request {event.correlation_id} of {event.client_id}",
                came_ms,
            )
            row.begin("unread", came_ms)
            self._requests[key] = row
        self._asked[event.request] = key
        self._requests[key].begin("handled", at_ms)
        self._requests[key].say("not answered", OPEN)

    def _throttled(self, event: heard.Throttled, at_ms: int) -> None:
        if event.connection not in self._throttles:
            whose = self._clients.get(event.connection, f"connection {event.connection}")
            row = self._new_row(self._group(f"broker {event.broker}", True), f"throttled: {whose}", at_ms)
            self._throttles[event.connection] = row
        row = self._throttles[event.connection]
        row.bars.append(Bar(at_ms, min(self.end_ms, at_ms + event.throttle_time_ms), "throttled"))
        row.say(f"throttled {len(row.bars):,} times, from {row.bars[0].start_ms:,} ms on", OPEN)

    def _key_of(self, event: heard.Request) -> tuple[str, int] | None:
        for key, sent in self._sent.items():
            identity = sent.client_id, sent.node, sent.correlation_id
            if identity == (event.client_id, event.broker, event.correlation_id):
                return key
        return None

    def _parked(self, event: heard.Parked, at_ms: int) -> None:
        if event.request in self._asked:
            row = self._requests[self._asked[event.request]]
            row.begin("parked", at_ms)
            if self._now_ms is not None:
                row.say(f"still parked, {at_ms + event.timeout_ms - self._now_ms:,} ms left", OPEN)

    def _answer(self, event: heard.Answer, at_ms: int) -> None:
        if event.request not in self._asked:
            return
        key = self._asked[event.request]
        row = self._requests[key]
        row.end(at_ms)
        errors = list(dict.fromkeys(answer.error for answer in event.partitions))
        is_good = event.outcome != "dropped" and errors in (["NONE"], [])
        row.marks.append(RowMark(at_ms, "done" if is_good else "failed"))
        offsets = [answer.base_offset for answer in event.partitions if answer.base_offset >= 0]
        said = ", ".join(errors) + (f", offset {offsets[0]:,}" if len(offsets) == 1 else "")
        if event.outcome == "dropped":
            said = f"client gone: {said}"
        elif event.outcome == "none":
            said = "acks=0 has no answer"
        row.say(f"{said} at {at_ms:,} ms", GOOD if is_good else BAD)

    def _response_handled(self, event: told.ResponseHandled, at_ms: int) -> None:
        key = event.producer, event.correlation_id
        if key not in self._requests or event.outcome == "none":
            return
        row = self._requests[key]
        is_answer = event.outcome == "answered"
        if not is_answer:
            row.marks.append(RowMark(at_ms, "lost"))
            if any(mark.kind in ("done", "failed") for mark in row.marks):
                row.say(f"too late: {row.outcome}", BAD)
            else:
                row.say(f"{row.outcome}; {event.outcome} at {at_ms:,} ms", BAD)
        is_good = is_answer and all(error == "NONE" for _, _, error, _ in event.partitions)
        for batch in (self._batches.get((event.producer, batch)) for batch in self._sent[key].batches):
            if batch is not None:
                self.arrows.append(Arrow(row, at_ms, batch, at_ms, GOOD if is_good else BAD))

    # Brokers.

    def _told_of_broker(self, event: heard.Event, at_ms: int, step: TimelineStep) -> None:
        group = self._group(step.where, True)
        if isinstance(event, _BEGINS_DOWN) and group.down_since_ms is None:
            group.down_since_ms = at_ms
        elif isinstance(event, _ENDS_DOWN) and group.down_since_ms is not None:
            group.down.append((group.down_since_ms, at_ms))
            group.down_since_ms = None
        if isinstance(event, of_brokers.BrokerKilled | of_brokers.BrokerStopped):
            for request in group.rows:  # the broker has dropped them
                request.end(at_ms)
        label = step.text.split(":")[0].split(" in ")[0]
        row = self._new_row(group, label, at_ms)
        row.marks.append(RowMark(at_ms, "event"))
        row.say(f"at {at_ms:,} ms" if label == step.text else f"{step.text} at {at_ms:,} ms", OPEN)

    def _finish(self) -> None:
        """End open bars, and put the rows of connections last. Rows of bootstrap servers are dropped if the producer
        knew other nodes."""
        self._number_callbacks()
        for name, node in list(self._links):
            rows = self._groups[name].rows
            row = self._links[name, node]
            rows.remove(row)
            if node >= 0 or not any(who == name and other >= 0 for who, other in self._links):
                rows.append(row)
        for group in self._groups.values():
            if group.down_since_ms is not None:
                group.down.append((group.down_since_ms, self.end_ms))
            for row in group.rows:
                row.end(self.end_ms)

    def _number_callbacks(self) -> None:
        """Add the order of the callbacks to the labels, where it differs from the order of the batches."""
        for name in self._groups:
            batches = [key for key in self._ended if key[0] == name]
            if batches != sorted(batches):
                for number, key in enumerate(batches, 1):
                    self._batches[key].label += f" · {number}. back"
