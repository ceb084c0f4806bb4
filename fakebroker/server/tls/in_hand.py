"""TLS, for the user of a cluster: `kafka.tls.ca`, `kafka.tls.client("alice")`, `kafka.tls.present("expired")`."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Final

from fakebroker.core.arguments import PATH_OR_NONE, STRING, WHOLE_NUMBER_OR_NONE, require, require_unicode
from fakebroker.server.clocks import Clock
from fakebroker.server.made.arguments import ListenerAddresses
from fakebroker.server.tls.certificates import PASSWORD, Certificates, ClientCertificate
from fakebroker.server.tls.contexts import Contexts

_MOST_TOKENS: Final = 1_000  # each has a file of some hundred bytes


class Tls:
    """The certificates of a cluster with listeners of SSL or SASL_SSL. Its files exist while the cluster runs, and in
    the folder of the option `certificates` for longer. Any thread may use it. Raises RuntimeError if no listener with
    TLS runs."""

    password = PASSWORD
    """The password of all key stores and trust stores."""

    def __init__(self, places: Sequence[ListenerAddresses], folder: str | PathLike[str] | None) -> None:
        require(PATH_OR_NONE, certificates=folder)
        if folder == "":
            raise ValueError("certificates must be the name of a folder, not ''")
        self._places = places
        self._folder = folder
        self._certificates: Certificates | None = None
        self._contexts: Contexts | None = None
        self._tokens: Path | None = None

    def _open(self, clock: Clock) -> Contexts | None:
        """Make the certificates, if a listener needs them. Return what the brokers present. Raises OSError, and
        ModuleNotFoundError without the extra."""
        if not any(place.listener.has_tls for place in self._places):
            return None
        return self._make([], clock)

    def _make(self, others: Sequence[str], clock: Clock) -> Contexts:
        names = [name for place in self._places for name in (place.advertised_host, place.host)]
        is_shared = self._folder is not None
        self._certificates = Certificates([*names, *others], self._folder, is_shared=is_shared)
        self._contexts = Contexts(self._certificates, lambda: clock.stamp().wall_ms)
        return self._contexts

    def _open_for(self, clock: Clock, host: str) -> Contexts:
        """Return what the brokers present, with a certificate that also names this host. Make it if no listener has
        needed it so far. Raises OSError, ConfigError, and ModuleNotFoundError without the extra."""
        if self._certificates is None or self._contexts is None:
            return self._make([host], clock)
        if self._certificates.add_host(host):
            self._contexts.renew()
        return self._contexts

    def _reset(self, clock: Clock) -> None:
        """Present what the brokers presented at the start. Certificates of clients stay valid."""
        if self._contexts is not None:
            self._contexts.reset(lambda: clock.stamp().wall_ms)

    def _close(self) -> None:
        """Remove the files that are not kept."""
        certificates, self._certificates, self._contexts = self._certificates, None, None
        if certificates is not None:
            certificates.close()
        tokens, self._tokens = self._tokens, None
        if tokens is not None:
            shutil.rmtree(tokens, ignore_errors=True)

    @property
    def _files(self) -> Certificates:
        if self._certificates is None:
            raise RuntimeError('no listener with TLS runs: start the cluster with listeners=["SSL"], for example')
        return self._certificates

    @property
    def ca(self) -> Path:
        """Return the PEM file of the CA, which clients have to trust."""
        return self._files.ca

    @property
    def truststore(self) -> Path:
        """Return a trust store with the CA, as PKCS#12, for Java."""
        return self._files.truststore

    @property
    def truststore_jks(self) -> Path:
        """Return the same as a file `.jks`, which Java reads for ssl.truststore.type=JKS."""
        return self._files.truststore_jks

    def client(self, common_name: str, what: str = "valid") -> ClientCertificate:
        """Return the files of a new certificate for a client. Where `ssl.client.auth` asks for it, its principal is
        User:CN=common_name, if ssl.principal.mapping.rules do not say otherwise. `what` is "valid", or "expired", "not
        yet valid" or "unknown issuer": brokers then refuse it. Raises ValueError."""
        require(STRING, common_name=common_name)
        require_unicode("the common name", common_name)
        return self._files.client(common_name, what)

    def token_file(self, token: str) -> Path:
        """Return a file with this token of `kafka.oauth`, for a client in Java. The file is removed when the cluster
        stops. No listener with TLS is needed. Raises ValueError for one file too many."""
        if self._tokens is None:
            self._tokens = Path(tempfile.mkdtemp(prefix="fakebroker-tokens-"))
        path = self._tokens / f"{hashlib.sha256(token.encode()).hexdigest()[:16]}.jwt"
        if not path.exists() and len(list(self._tokens.iterdir())) >= _MOST_TOKENS:
            raise ValueError(f"a cluster has files for {_MOST_TOKENS} tokens already: use one of before")
        path.write_text(token)
        return path

    def present(self, what: str = "valid", *, lifetime_ms: int | None = None) -> None:
        """Present this in the handshakes from now on: "valid" (a new certificate), "expired", "not yet valid",
        "wrong host", "unknown issuer", or "nothing": the handshake stalls. With a lifetime the valid one expires when
        that has passed on the cluster's clock. Open connections stay. Raises ValueError."""
        require(WHOLE_NUMBER_OR_NONE, lifetime_ms=lifetime_ms)
        self._files  # noqa: B018  or there is nothing that could be presented
        assert self._contexts is not None
        self._contexts.present(what, lifetime_ms)
