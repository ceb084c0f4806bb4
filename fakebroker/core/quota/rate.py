"""The rate over the last windows, as Kafka's metrics compute it.

Theory   Values go into samples of one window each. The first value that comes when the last sample is a window old
         starts a new one, so there are gaps but no empty samples. `samples` are kept, and one more that may overlap the
         edge. The rate is the sum of all samples over the time since the oldest of them began. Fewer than samples - 1
         full windows count as samples - 1 full windows: little data is not taken for a high rate.

           11 samples of 1000 ms; 30 000 bytes at 0, 5000 bytes at 2500:
             at 0       30 000 / (0 + 10 full windows)                      = 30 000 / 10.0 s = 3000/s
             at 2500    35 000 / (2500, 2 of them full, + 8 full windows)   = 35 000 / 10.5 s = 3333.3/s
             at 11 000  the first sample's last value is 11 windows old: reset; the oldest began at 2500
                         5 000 / (8500, 8 of them full, + 2 full windows)   =  5 000 / 10.5 s

Units    windows and times in milliseconds, of any clock that goes on; rates per second.
Source   clients/.../common/metrics/stats/{Rate,SimpleRate,SampledStat,WindowedSum}.java @ 4.0; arithmetic in
         doubles, in Kafka's order.
Differs  No event window (Kafka's default is none).
"""

from __future__ import annotations

import math


class _Sample:
    __slots__ = ("last_event_ms", "start_time_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.value = 0.0
        self.start_time_ms = now_ms
        self.last_event_ms = now_ms


class Rate:
    """A sum over `num_samples` windows of `time_window_ms`, per second."""

    __slots__ = ("_current", "_num_samples", "_samples", "_time_window_ms")

    def __init__(self, num_samples: int, time_window_ms: int) -> None:
        self._num_samples = num_samples
        self._time_window_ms = time_window_ms
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_time_ms >= self._time_window_ms:
            sample = self._advance(now_ms)
        sample.value += value
        sample.last_event_ms = now_ms

    def _advance(self, now_ms: int) -> _Sample:
        self._current = (self._current + 1) % (self._num_samples + 1)
        if self._current >= len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def measure(self, now_ms: int) -> float:
        """Return the rate per second."""
        self._purge_obsolete_samples(now_ms)
        total = 0.0
        for sample in self._samples:
            total += sample.value
        return total / (self.window_size_ms(now_ms) / 1000.0)

    def window_size_ms(self, now_ms: int) -> int:
        """Return the time by which the sum is divided."""
        self._purge_obsolete_samples(now_ms)
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        elapsed_ms = now_ms - min(sample.start_time_ms for sample in self._samples)
        # Java's division: towards zero, in case the clock has gone back.
        num_full_windows = int(elapsed_ms / self._time_window_ms)
        min_full_windows = self._num_samples - 1
        if num_full_windows < min_full_windows:
            elapsed_ms += (min_full_windows - num_full_windows) * self._time_window_ms
        return max(elapsed_ms, 1)

    def _purge_obsolete_samples(self, now_ms: int) -> None:
        expire_age_ms = self._num_samples * self._time_window_ms
        for sample in self._samples:
            if now_ms - sample.last_event_ms >= expire_age_ms:
                sample.reset(now_ms)

    def last_event_ms(self) -> int:
        return max((sample.last_event_ms for sample in self._samples), default=0)


class SimpleRate(Rate):
    """A rate without assumed windows. It divides by the time since the oldest sample began, at least one window."""

    __slots__ = ()

    def window_size_ms(self, now_ms: int) -> int:
        self._purge_obsolete_samples(now_ms)
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        return max(now_ms - min(sample.start_time_ms for sample in self._samples), self._time_window_ms)

    def falls_to_ms(self, bound: int, now_ms: int) -> int:
        """Return the first millisecond from now on at which the rate is at most `bound`, if nothing comes until then.

        It falls steadily, except where a sample expires: there the sum falls, and the time may too.
        """
        self._purge_obsolete_samples(now_ms)
        expire_age_ms = self._num_samples * self._time_window_ms
        left = sorted(self._samples, key=_last_event_ms)
        begin_ms = now_ms
        while left:
            end_ms = left[0].last_event_ms + expire_age_ms
            value = sum(sample.value for sample in left)
            start_ms = min(sample.start_time_ms for sample in left)
            if value <= 0 or value * 1000 <= bound * self._time_window_ms:
                return begin_ms
            if bound > 0:
                falls_ms = max(begin_ms, start_ms + math.ceil(value * 1000 / bound))
                if falls_ms < end_ms:
                    return falls_ms
            begin_ms = max(begin_ms, end_ms)
            left = [sample for sample in left if sample.last_event_ms + expire_age_ms > begin_ms]
        return begin_ms


def _last_event_ms(sample: _Sample) -> int:
    return sample.last_event_ms
