"""A cluster in a separate thread with the HTTP control, as in `serve`."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import httpx

from fakebroker import FakeCluster
from fakebroker.control.listening import Control
from fakebroker.server.running.one_port import LOOPBACK
from support.watchdog import LIMIT_S


class Controlled:
    """A cluster with its control: `kafka` is the cluster, `http` a client of the control."""

    def __init__(self, *, token: str | None = None, is_loaded: bool = True, **arguments: Any) -> None:
        self.kafka = FakeCluster(**arguments)
        self.token = token
        self._is_loaded = is_loaded
        self.control: Control
        self.http: httpx.Client

    def __enter__(self) -> Self:
        self.kafka.start()
        try:
            self.kafka._await(self._start())
            headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
            self.http = httpx.Client(
                base_url=self.control.url,
                headers=headers,
                timeout=LIMIT_S,
                limits=httpx.Limits(max_keepalive_connections=0),  # a test leaves no connection behind
                trust_env=False,
                verify=False,  # plain HTTP: to read the certificates takes 25 ms
            )
        except BaseException:
            self.kafka.stop()
            raise
        return self

    async def _start(self) -> None:
        self.control = Control(self.kafka._cluster, LOOPBACK, self.token)
        await self.control.start(0)
        if self._is_loaded:
            self.control.load()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.http.close()
        try:
            self.kafka._await(self.control.stop())
        finally:
            self.kafka.stop()

    @property
    def clusters(self) -> Any:
        """Return the clusters of the service, which exists once it is loaded."""
        assert self.control._service is not None
        return self.control._service.clusters

    def ask(self, method: str, path: str, body: object = None, status: int = 200, **query: Any) -> Any:
        """Return the JSON of a response with this status."""
        answer = self.http.request(method, path, json=body, params=query or None)
        assert answer.status_code == status, answer.text
        assert not answer.content or answer.content.endswith(b"\n")
        return answer.json() if answer.content else None

    def get(self, path: str, **query: Any) -> Any:
        return self.ask("GET", path, **query)

    def refused(self, method: str, path: str, body: object = None, status: int = 422, **query: Any) -> dict[str, Any]:
        """Return the error of a response."""
        error: dict[str, Any] = self.ask(method, path, body, status, **query)["error"]
        return error
