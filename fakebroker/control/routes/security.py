"""TLS of the cluster, and the settings of clients."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from fakebroker.control.bodies import ClientOf, NewCertificate, NewToken, Presented
from fakebroker.control.errors import given
from fakebroker.control.here import Here, Route

router = APIRouter(tags=["security"], route_class=Route)


class TlsNow(BaseModel):
    """The CA as PEM, and the files of the process that has it."""

    ca: str
    ca_file: str
    truststore_file: str
    truststore_password: str


class CertificateNow(BaseModel):
    """A certificate and its key as PEM, and its key store, in the process that made it."""

    certificate: str
    key: str
    keystore_file: str
    keystore_password: str


class Jwks(BaseModel):
    """A set of public keys (RFC 7517)."""

    keys: list[dict[str, Any]]


class TokenNow(BaseModel):
    token: str


class ClientSettings(BaseModel):
    settings: dict[str, Any]


@router.get("/tls")
async def get_tls(here: Here) -> TlsNow:
    """The CA that clients have to trust."""
    with given():
        tls = here.cluster.tls
        files = {"ca_file": str(tls.ca), "truststore_file": str(tls.truststore)}
        return TlsNow(ca=tls.ca.read_text(), truststore_password=tls.password, **files)


@router.put("/tls")
async def present(here: Here, body: Presented) -> TlsNow:
    """Change what brokers present in handshakes: valid (a new certificate), expired, not yet valid, wrong host, unknown
    issuer, or nothing. With lifetime_ms a valid one expires on the cluster's clock."""
    with given():
        here.cluster.tls.present(body.present, lifetime_ms=body.lifetime_ms)
    return await get_tls(here)


@router.post("/tls/certificates", status_code=201)
async def make_certificate(here: Here, body: NewCertificate) -> CertificateNow:
    """Make a certificate for a client; its principal is User:CN=common_name. By `present` it is one that brokers
    refuse."""
    with given():
        made, password = here.cluster.tls.client(body.common_name, body.present), here.cluster.tls.password
    return CertificateNow(
        certificate=made.certificate.read_text(),
        key=made.key.read_text(),
        keystore_file=str(made.keystore),
        keystore_password=password,
    )


@router.get("/oauth/jwks")
async def get_jwks(here: Here) -> Jwks:
    """The public key that verifies the tokens of the cluster, as a set of keys. A broker or another server can be told
    this URL: sasl.oauthbearer.jwks.endpoint.url."""
    with given():
        return Jwks(**here.cluster.oauth.jwks)


@router.post("/oauth/tokens", status_code=201)
async def make_token(here: Here, body: NewToken) -> TokenNow:
    """Make a token for a login by OAUTHBEARER, valid from now on, on the cluster's clock."""
    with given():
        token = here.cluster.oauth.token(
            body.subject, lifetime_ms=body.lifetime_ms, claims=body.claims, is_signed=body.is_signed
        )
    return TokenNow(token=token)


@router.post("/client-settings")
async def client_settings(here: Here, body: ClientOf) -> ClientSettings:
    """The settings with which a client of that library connects to a listener. A common_name makes a certificate for
    it."""
    with given():
        certificate = None if body.common_name is None else here.cluster.tls.client(body.common_name)
        settings = here.cluster.client_settings(
            body.library,
            body.listener,
            mechanism=body.mechanism,
            user=body.user,
            password=body.password,
            certificate=certificate,
            token=body.token,
        )
        if "ssl_context" in settings:
            raise ValueError(
                "aiokafka takes an SSLContext, which is no JSON: make it of the settings of kafka-python, ssl_cafile, "
                "ssl_certfile and ssl_keyfile"
            )
    return ClientSettings(settings=settings)
