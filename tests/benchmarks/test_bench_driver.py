"""The two drivers work as documented, against a sink with its own counters and against this broker."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.messages import decode_response

from benchmarks.drivers import driver as driving
from benchmarks.drivers.driver import Address, DriverError, Effort, Target, drive
from benchmarks.drivers.frames import (
    MIB,
    PRODUCE_VERSION,
    answer_bytes,
    error_at,
    frame_file,
    produce_frame,
    record_batch,
    repeated,
)
from benchmarks.machine.programs import HERE, driver_program
from benchmarks.sink import sink
from fakebroker import FakeCluster

PYTHON = [sys.executable, str(HERE / "drivers" / "python_driver.py")]
TOPIC = "t000"
REQUEST_TIMED_OUT = 7


@pytest.fixture(params=["C", "Python"])
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    if request.param == "C" and shutil.which("cc") is None:
        pytest.skip("no C compiler")
    command = [str(driver_program())] if request.param == "C" else PYTHON
    monkeypatch.setattr(driving, "command", lambda: (command, request.param))
    return command


class CountingBroker:
    """Answers each frame; keeps how many came by connection, and the frames themselves."""

    def __init__(self, error_code: int = 0) -> None:
        self.frames: list[list[bytes]] = []
        self._error = error_code.to_bytes(2, "big")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: Address = ("127.0.0.1", self._listener.getsockname()[1])
        self._ending = False
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._ending:
                connection.close()
                return
            self.frames.append([])
            thread = threading.Thread(target=self._serve, args=(connection, self.frames[-1]))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket, got: list[bytes]) -> None:
        size = answer_bytes(TOPIC)
        place = error_at(TOPIC)
        answer = (size - 4).to_bytes(4, "big") + bytes(place - 4) + self._error + bytes(size - place - 2)
        with connection, connection.makefile("rb") as stream:
            try:
                while head := stream.read(4):
                    got.append(head + stream.read(int.from_bytes(head, "big")))
                    connection.sendall(answer)
            except ConnectionError:
                return

    def close(self) -> None:
        self._ending = True
        socket.create_connection(self.address).close()
        self._accepting.join()
        for thread in self._threads:
            thread.join()
        self._listener.close()


@contextmanager
def counting_broker(error_code: int = 0) -> Iterator[CountingBroker]:
    broker = CountingBroker(error_code)
    try:
        yield broker
    finally:
        broker.close()


def frames(count: int) -> list[bytes]:
    return [produce_frame(TOPIC, partition, record_batch(100), acks=-1) for partition in range(count)]


def test_every_answer_is_counted_and_every_frame_is_whole(driver: list[str]) -> None:
    sent = frames(3)
    with counting_broker() as broker:
        target = Target(broker.address, sent, connections=2)
        result = drive([target], 5, Effort(0, 60_000, 100), error_at(TOPIC))
    assert len(broker.frames) == 2
    assert sum(map(len, broker.frames)) == result["all_answers"]
    assert 100 <= result["answers"] <= result["all_answers"]
    assert result["seconds"] > 0
    assert result["frame_bytes"] == len(sent[0])
    for got in broker.frames:
        assert got == [sent[number % 3] for number in range(len(got))]


def test_one_in_flight_has_the_quantiles_of_a_round_trip(driver: list[str]) -> None:
    with counting_broker() as broker:
        result = drive([Target(broker.address, frames(1))], 1, Effort(0, 60_000, 50), error_at(TOPIC))
    assert 0 < result["p50_ms"] <= result["p99_ms"]


def test_an_error_of_the_broker_ends_the_run(driver: list[str]) -> None:
    with counting_broker(error_code=19) as broker, pytest.raises(DriverError, match="error code 19"):
        drive([Target(broker.address, frames(1))], 4, Effort(0, 60_000, 50), error_at(TOPIC))


@pytest.mark.parametrize("value_bytes", [100, MIB])
def test_a_sink_answers_every_frame(driver: list[str], value_bytes: int) -> None:
    frame = produce_frame(TOPIC, 0, record_batch(value_bytes), acks=-1)
    for program in ([*driver, "sink"], [sys.executable, str(HERE / "peers" / "uvloop_sink.py")]):
        with sink(program) as (address, _):
            result = drive([Target(address, [frame], 3)], 4, Effort(0, 60_000, 200), error_at(TOPIC))
        assert result["answers"] >= 200


def test_the_uvloop_sink_answers_under_the_correlation_id_however_the_bytes_are_cut() -> None:
    frame = produce_frame(TOPIC, 0, record_batch(100), acks=-1)
    ids = [number.to_bytes(4, "big") for number in range(1, 9)]
    data = b"".join(frame[:8] + correlation_id + frame[12:] for correlation_id in ids)
    size = answer_bytes(TOPIC)
    for step in (1, 5, 11, 12, 13, len(frame), len(frame) + 3, len(data)):
        with (
            sink([sys.executable, str(HERE / "peers" / "uvloop_sink.py")]) as (address, _),
            socket.create_connection(address) as connection,
        ):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(0, len(data), step):
                connection.sendall(data[at : at + step])
            answers = connection.recv(len(ids) * size, socket.MSG_WAITALL)
        assert [answers[at + 4 : at + 8] for at in range(0, len(answers), size)] == ids
        assert [answers[at : at + 4] for at in range(0, len(answers), size)] == [(size - 4).to_bytes(4, "big")] * 8


def test_the_driver_reads_what_this_broker_answers(driver: list[str]) -> None:
    frame = produce_frame(TOPIC, 0, record_batch(1024), acks=-1)
    with FakeCluster() as kafka:
        kafka.create_topic(TOPIC, 1, 3)
        leader = kafka.endpoints[0]
        with socket.create_connection((leader.host, leader.port)) as connection:
            connection.sendall(frame)
            answer = connection.recv(1 << 16)
        result = drive([Target((leader.host, leader.port), [frame])], 16, Effort(0, 60_000, 200), error_at(TOPIC))
    assert result["answers"] >= 200
    assert len(answer) == answer_bytes(TOPIC)
    _, message = decode_response(0, PRODUCE_VERSION, answer[4:])
    assert message.responses[0].partition_responses[0].error_code == 0
    assert answer[error_at(TOPIC) - 4 : error_at(TOPIC) + 2] == bytes(6), "the index and the error code"


def test_parked_requests_are_all_answered_and_none_is_early(driver: list[str]) -> None:
    frame = produce_frame(TOPIC, 0, record_batch(100), acks=-1, timeout_ms=300)
    with FakeCluster(followers="frozen") as kafka:
        kafka.create_topic(TOPIC, 1, 3)
        leader = kafka.endpoints[0]
        with frame_file([frame]) as path:
            target = f"{leader.host},{leader.port},1,{path}"
            done = subprocess.run(
                [*driver, "park", "300", "2000", "40", str(error_at(TOPIC)), str(REQUEST_TIMED_OUT), target],
                input="\n",
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
    first, second, line = done.stdout.splitlines()
    assert (first, second) == ("connected", "parked")
    result = json.loads(line)
    assert result["answers"] == 40
    assert 0 <= result["min_ms"] <= result["p50_ms"] <= result["p99_ms"] <= result["max_ms"]


def test_frames_have_one_size_and_fill_a_file() -> None:
    many = frames(7)
    assert len({len(frame) for frame in many}) == 1
    data = repeated(many)
    assert len(data) % len(b"".join(many)) == 0
    assert MIB // 2 < len(data) <= MIB
    big = produce_frame(TOPIC, 0, record_batch(MIB), acks=-1)
    assert repeated([big]) == big


def test_a_batch_of_1_mib_is_the_most_that_a_topic_takes() -> None:
    assert MIB - 16 < len(record_batch(MIB)) <= MIB
