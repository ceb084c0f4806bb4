"""The driver where there is no C compiler: the arguments and the output of `driver.c`, which says what they mean.

Needs the standard library only and is run as a file, so that it starts quickly.
"""

from __future__ import annotations

import json
import resource
import selectors
import socket
import struct
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_S = 30.0


@dataclass
class Target:
    address: tuple[str, int]
    connections: int
    data: bytes
    frame_bytes: int


@dataclass
class Connection:
    socket: socket.socket
    target: Target
    allowed: int = 0  # requests
    sent: int = 0  # bytes
    blocked: bool = False
    rest: bytes = b""
    sent_at: float = field(default=0.0)


def parse(text: str) -> Target:
    host, port, connections, path = text.split(",", 3)
    data = Path(path).read_bytes()
    return Target((host, int(port)), int(connections), data, 4 + int.from_bytes(data[:4], "big"))


def dial(target: Target, selector: selectors.BaseSelector) -> Connection:
    connection = Connection(socket.create_connection(target.address), target)
    connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.socket.setblocking(False)
    selector.register(connection.socket, selectors.EVENT_READ, connection)
    return connection


def push(selector: selectors.BaseSelector, connection: Connection) -> None:
    """Send what the window allows."""
    target = connection.target
    end = connection.allowed * target.frame_bytes
    view = memoryview(target.data)
    while connection.sent < end:
        start = connection.sent % len(target.data)
        try:
            connection.sent += connection.socket.send(view[start : start + end - connection.sent])
        except BlockingIOError:
            break
    blocked = connection.sent < end
    if blocked != connection.blocked:
        connection.blocked = blocked
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if blocked else 0)
        selector.modify(connection.socket, events, connection)


def pull(connection: Connection, error_at: int, error: int) -> int:
    """Read what has come; the number of whole answers."""
    try:
        got = connection.socket.recv(1 << 18)
    except BlockingIOError:
        return 0
    if not got:
        raise SystemExit("driver: the broker closed the connection")
    data = connection.rest + got
    at = answers = 0
    while len(data) - at >= 4:
        size = 4 + int.from_bytes(data[at : at + 4], "big")
        if len(data) - at < size:
            break
        if error_at:
            (code,) = struct.unpack_from(">h", data, at + error_at)
            if code != error:
                raise SystemExit(f"driver: an answer has error code {code} instead of {error}")
        at += size
        answers += 1
    connection.rest = data[at:]
    return answers


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def quantile_ms(ordered: list[float], q: float) -> float:
    return ordered[int((len(ordered) - 1) * q + 0.5)] * 1000 if ordered else 0.0


def run(window: int, warm_ms: int, run_ms: int, most: int, error_at: int, targets: list[Target]) -> dict[str, float]:
    selector = selectors.DefaultSelector()
    connections = [dial(target, selector) for target in targets for _ in range(target.connections)]
    began = time.perf_counter()
    for connection in connections:
        connection.allowed = window
        connection.sent_at = time.perf_counter()
        push(selector, connection)
    took: list[float] = []
    start, start_answered, start_cpu = 0.0, 0, 0.0
    result: dict[str, float] = {}
    answered, in_flight = 0, window * len(connections)
    while in_flight:
        ready = selector.select(PATIENCE_S)
        if not ready:
            raise SystemExit(f"driver: no answer within {PATIENCE_S:.0f} s")
        for key, events in ready:
            connection = key.data
            if events & selectors.EVENT_READ:
                answers = pull(connection, error_at, 0)
                answered += answers
                in_flight -= answers
                if window == 1 and answers:
                    now = time.perf_counter()
                    if start and not result:
                        took.append(now - connection.sent_at)
                    connection.sent_at = now
                if not result:
                    connection.allowed += answers
                    in_flight += answers
            push(selector, connection)
        now = time.perf_counter()
        if not start and now - began >= warm_ms / 1000:
            start, start_answered, start_cpu = now, answered, cpu_s()
        elif start and not result and (now - start >= run_ms / 1000 or answered - start_answered >= most):
            result = {"answers": answered - start_answered, "seconds": now - start, "cpu_s": cpu_s() - start_cpu}
    result |= {"frame_bytes": targets[0].frame_bytes, "all_answers": answered}
    if window == 1:
        took.sort()
        result |= {"p50_ms": quantile_ms(took, 0.5), "p99_ms": quantile_ms(took, 0.99)}
    return result


def park(timeout_ms: int, rate: int, total: int, error_at: int, error: int, target: Target) -> dict[str, float]:
    selector = selectors.DefaultSelector()
    connections = [dial(target, selector) for _ in range(total)]
    print("connected", flush=True)
    if not sys.stdin.readline():
        raise SystemExit(1)
    began = time.perf_counter()
    sent = 0
    late: list[float] = []
    while len(late) < total:
        now = time.perf_counter()
        while sent < total and began + sent / rate <= now:
            connections[sent].allowed = 1
            connections[sent].sent_at = now = time.perf_counter()
            push(selector, connections[sent])
            sent += 1
            if sent == total:
                print("parked", flush=True)
        ready = selector.select(0.001 if sent < total else timeout_ms / 1000 + 30)
        if not ready and sent == total:
            raise SystemExit("driver: answers are missing")
        for key, _ in ready:
            if pull(key.data, error_at, error):
                late.append(time.perf_counter() - key.data.sent_at - timeout_ms / 1000)
    for connection in connections:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.socket.close()
    late.sort()
    return {
        "answers": len(late),
        "min_ms": late[0] * 1000,
        "p50_ms": quantile_ms(late, 0.5),
        "p99_ms": quantile_ms(late, 0.99),
        "max_ms": late[-1] * 1000,
    }


def sink(answer_bytes: int) -> None:
    """Answer each frame with that many bytes, until standard input ends."""
    answer = (answer_bytes - 4).to_bytes(4, "big") + bytes(answer_bytes - 4)
    selector = selectors.DefaultSelector()
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    selector.register(sys.stdin, selectors.EVENT_READ)
    selector.register(listener, selectors.EVENT_READ)
    rests: dict[socket.socket, tuple[bytes, int]] = {}  # the beginning of a length; bytes of a frame to come
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is listener:
                fresh, _ = listener.accept()
                fresh.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(fresh, selectors.EVENT_READ)
                rests[fresh] = b"", 0
                continue
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            got = peer.recv(1 << 18)
            if not got:
                selector.unregister(peer)
                del rests[peer]
                peer.close()
                continue
            head, skip = rests[peer]
            data = head + got
            at, frames = skip, int(0 < skip <= len(data))
            while at <= len(data) - 4:
                at += 4 + int.from_bytes(data[at : at + 4], "big")
                frames += at <= len(data)
            rests[peer] = (data[at:], 0) if at <= len(data) else (b"", at - len(data))
            if frames:
                peer.sendall(answer * frames)


def main(argv: list[str]) -> int:
    mode, *rest = argv
    if mode == "run":
        window, warm_ms, run_ms, most, error_at = (int(text) for text in rest[:5])
        print(json.dumps(run(window, warm_ms, run_ms, most, error_at, [parse(text) for text in rest[5:]])))
    elif mode == "park":
        timeout_ms, rate, total, error_at, error = (int(text) for text in rest[:5])
        print(json.dumps(park(timeout_ms, rate, total, error_at, error, parse(rest[5]))))
    elif mode == "sink":
        sink(int(rest[0]))
    else:
        raise SystemExit("driver: run, park or sink")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
