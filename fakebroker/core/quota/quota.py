"""The quotas of clients on one broker, and their throttle times.

Theory   A quota is set for an entity: a user, a client id, both, or the default of each. For a request the first of
         these that is set counts:
           - 1 /users/U/clients/C   2 /users/U/clients/<default>   3 /users/U   4 /users/<default>/clients/C
           - 5 /users/<default>/clients/<default>   6 /users/<default>   7 /clients/C   8 /clients/<default>

         The sum of use belongs to the kind of that entity. By 3 or 6 all clients of a user share one sum. By 7 or 8 all
         users of a client id share one. By the others each pair has its own. A default gives each its own sum, with one
         bound. A request violates the quota if the rate (rate.py), this request included, is above the bound:
           throttle_time_ms = round((rate - bound) / bound * window_ms)
         which is the time until the same sum over the longer time is the bound.
Units    produce: bytes per second, of requests without their length; fetch: the same, of responses. request: percent of
         one handler thread, so 10 ms of handling per second are 1.
Source   core/.../server/{ClientQuotaManager,ClientRequestQuotaManager}.scala, DefaultQuotaCallback in the former;
         server-common/.../quota/QuotaUtils.java @ 4.0.
Differs  By the monotonic clock, where Kafka's rates use the wall clock. The time a request takes in its handler is a
         setting, not measured: see `QuotaManagers`. No custom callbacks, no metrics.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.java_numbers import java_round, low_int
from fakebroker.core.quota.rate import Rate

PRODUCER_BYTE_RATE = "producer_byte_rate"  # bytes per second and broker
CONSUMER_BYTE_RATE = "consumer_byte_rate"  # the same for fetched bytes
REQUEST_PERCENTAGE = "request_percentage"  # of one handler thread, per broker
DEFAULT = "<default>"

_NO_BOUND = float(2**63 - 1)
_INACTIVE_SENSOR_EXPIRATION_MS = 3_600_000
_MANY_SENSORS = 1024
_PERCENT_PER_US = 1_000 * (100.0 / 1_000_000_000)  # NanosToPercentagePerSecond


class QuotaEntity(NamedTuple):
    """The entity of a quota: names, DEFAULT, or None where it is not for users, client ids or addresses."""

    user: str | None
    client_id: str | None
    ip: str | None = None


class Tags(NamedTuple):
    """The key of a sum; a part is empty if all share the sum."""

    user: str
    client_id: str


# The kinds of quota that were ever set. Kafka takes the short way while there is one kind only.
_CLIENT_ID, _USER, _USER_CLIENT_ID = 1, 2, 4


class QuotaBounds:
    """The bounds of one kind of quota, and the choice of the sum (DefaultQuotaCallback)."""

    def __init__(self) -> None:
        self._bounds: dict[QuotaEntity, float] = {}
        self._types_enabled = 0

    @property
    def quotas_enabled(self) -> bool:
        """True if any quota was ever set. It stays so, as in Kafka, until the broker is restarted."""
        return self._types_enabled != 0

    def update_quota(self, entity: QuotaEntity, bound: float | None) -> None:
        """Set the bound of an entity, or remove it with None. Use recorded before still counts."""
        if entity.user is None:
            self._types_enabled |= _CLIENT_ID
        else:
            self._types_enabled |= _USER if entity.client_id is None else _USER_CLIENT_ID
        if bound is None:
            self._bounds.pop(entity, None)
        else:
            self._bounds[entity] = bound

    def quota(self, user: str, client_id: str) -> float | None:
        """Return the bound for this user and client id, None if there is none."""
        bound = self.limit(self.metric_tags(user, client_id))
        return None if bound == _NO_BOUND else bound

    def metric_tags(self, user: str, client_id: str) -> Tags:
        if self._types_enabled in (0, _CLIENT_ID):
            return Tags("", client_id)
        if self._types_enabled == _USER:
            return Tags(user, "")
        if self._types_enabled == _USER_CLIENT_ID:
            return Tags(user, client_id)
        for entity in (
            QuotaEntity(user, client_id),
            QuotaEntity(user, DEFAULT),
            QuotaEntity(user, None),
            QuotaEntity(DEFAULT, client_id),
            QuotaEntity(DEFAULT, DEFAULT),
            QuotaEntity(DEFAULT, None),
        ):
            if entity in self._bounds:
                return Tags(user, "" if entity.client_id is None else client_id)
        return Tags("", client_id)

    def limit(self, tags: Tags) -> float:
        """Return the bound for these tags. An empty client id has none but its user's, not even a default."""
        user, client_id = tags
        entities: tuple[QuotaEntity, ...]
        if user and client_id:
            entities = (
                QuotaEntity(user, client_id),
                QuotaEntity(user, DEFAULT),
                QuotaEntity(DEFAULT, client_id),
                QuotaEntity(DEFAULT, DEFAULT),
            )
        elif user:
            entities = QuotaEntity(user, None), QuotaEntity(DEFAULT, None)
        elif client_id:
            entities = QuotaEntity(None, client_id), QuotaEntity(None, DEFAULT)
        else:
            return _NO_BOUND
        return next((self._bounds[entity] for entity in entities if entity in self._bounds), _NO_BOUND)


class ClientQuotaManager(QuotaBounds):
    """One kind of quota on one broker. `max_throttle_time_ms` caps the throttle time, if given."""

    def __init__(self, num_samples: int, time_window_ms: int, max_throttle_time_ms: int | None = None) -> None:
        super().__init__()
        self._num_samples = num_samples
        self._time_window_ms = time_window_ms
        self._max_throttle_time_ms = max_throttle_time_ms
        self._sensors: dict[Tags, Rate] = {}
        self._purge_at = _MANY_SENSORS

    def unrecord(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        """Take back recorded bytes that are not sent after all."""
        self._get_or_create_sensor(self.metric_tags(user, client_id), now_ms).record(-value, now_ms)

    def max_value_in_quota_window(self, user: str, client_id: str) -> float:
        """Return the largest value that alone, after a long idle time, does not violate the quota."""
        bound = self.limit(self.metric_tags(user, client_id))
        return bound * (self._num_samples - 1) * (self._time_window_ms // 1000)

    def maybe_record_and_get_throttle_time_ms(self, user: str, client_id: str, value: float, now_ms: int) -> int:
        """Record the use if any quota was ever set. Return the throttle time if a quota is violated, else 0."""
        if not self.quotas_enabled:
            return 0
        tags = self.metric_tags(user, client_id)
        sensor = self._get_or_create_sensor(tags, now_ms)
        sensor.record(value, now_ms)
        rate, bound = sensor.measure(now_ms), self.limit(tags)
        return 0 if rate <= bound else self._throttle_time_ms(rate, bound, sensor.window_size_ms(now_ms))

    def _throttle_time_ms(self, rate: float, bound: float, window_size_ms: int) -> int:
        delay_ms = (rate - bound) / bound * window_size_ms if bound else math.inf
        throttle_time_ms = java_round(delay_ms)
        if self._max_throttle_time_ms is not None:
            throttle_time_ms = min(throttle_time_ms, self._max_throttle_time_ms)
        # Kafka's `.toInt`: more than 2^31 - 1 ms (25 days) becomes some other number. A negative one does not throttle.
        return low_int(throttle_time_ms)

    def _get_or_create_sensor(self, tags: Tags, now_ms: int) -> Rate:
        sensor = self._sensors.get(tags)
        if sensor is None:
            if len(self._sensors) >= self._purge_at:
                self._purge(now_ms)
            sensor = self._sensors[tags] = Rate(self._num_samples, self._time_window_ms)
        return sensor

    def _purge(self, now_ms: int) -> None:
        """Drop sensors that were unused for an hour: a new sensor gives the same rates as one without recent
        samples."""
        oldest_ms = now_ms - max(_INACTIVE_SENSOR_EXPIRATION_MS, (self._num_samples + 1) * self._time_window_ms)
        self._sensors = {tags: rate for tags, rate in self._sensors.items() if rate.last_event_ms() > oldest_ms}
        self._purge_at = max(2 * len(self._sensors), _MANY_SENSORS)


class QuotaManagers:
    """The quotas of one broker, checked when a response is built.

    The request quota counts the time that a request takes in its handler. The core has no clock to measure it, and
    Python's time says nothing about Kafka. So each request counts `fakebroker.request.handler.time.us`. It delays
    nothing. Kafka adds the network threads' time afterwards; here it is part of the number.
    """

    def __init__(self, config: BrokerConfig) -> None:
        num_samples, window_ms = config.quota_window_num, config.quota_window_size_seconds * 1000
        self.produce = ClientQuotaManager(num_samples, window_ms)
        self.fetch = ClientQuotaManager(num_samples, window_ms)
        self.request = ClientQuotaManager(num_samples, window_ms, max_throttle_time_ms=window_ms)
        self.enabled = False  # True if any quota was ever set
        self.configure(config)

    def configure(self, config: BrokerConfig) -> None:
        """Set the percentage that each request counts from now on."""
        self._request_percentage = config.fakebroker_request_handler_time_us * _PERCENT_PER_US

    def update_quota(self, key: str, entity: QuotaEntity, bound: float | None) -> None:
        """Set or remove the quota `key` of an entity."""
        self.enabled = True
        manager = {PRODUCER_BYTE_RATE: self.produce, CONSUMER_BYTE_RATE: self.fetch, REQUEST_PERCENTAGE: self.request}[
            key
        ]
        manager.update_quota(entity, bound)

    def record_and_get_throttle_time_ms(
        self,
        user: str,
        client_id: str,
        produced_bytes: int | None,
        fetched_bytes: int | None,
        uses_request_time: bool,
        now_ms: int,
    ) -> int:
        """Record one request of a user: its bytes if it produced, the bytes of its response if it fetched, and its time
        unless it is exempt. Return the longer of the throttle times. A throttled fetch gets no records, and its bytes
        do not count."""
        bandwidth_ms = request_ms = 0
        if produced_bytes is not None:
            bandwidth_ms = self.produce.maybe_record_and_get_throttle_time_ms(user, client_id, produced_bytes, now_ms)
        if fetched_bytes is not None:
            bandwidth_ms = self.fetch.maybe_record_and_get_throttle_time_ms(user, client_id, fetched_bytes, now_ms)
        if uses_request_time:
            request_ms = self.request.maybe_record_and_get_throttle_time_ms(
                user, client_id, self._request_percentage, now_ms
            )
        throttle_time_ms = max(bandwidth_ms, request_ms)
        if throttle_time_ms > 0 and fetched_bytes is not None and self.fetch.quotas_enabled:
            self.fetch.unrecord(user, client_id, fetched_bytes, now_ms)
        return throttle_time_ms
