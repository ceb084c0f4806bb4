"""A choice of the logins at a listener with TLS: the exchange is the same as in plain text."""

from __future__ import annotations

from dataclasses import replace

from conformance.cases.security.sasl_logins import CASES as LOGINS
from conformance.scenario import Case, Send, Step
from conformance.security.user_steps import BOX, SASL_SSL

_CHOSEN = (
    "sasl-plain/right-v0", "sasl-plain/right-v2", "sasl-plain/right-bare", "sasl-plain/authzid-v2",
    "sasl-plain/wrong-password", "sasl-plain/unknown-user", "sasl-plain/empty", "sasl-plain/another-authzid",
    "sasl-plain/no-utf8",
    "sasl-scram/256-right-v2", "sasl-scram/512-right-v2", "sasl-scram/512-right-v-1", "sasl-scram/256-wrong-v2",
    "sasl-scram/escaped-name", "sasl-scram/final-another-channel", "sasl-scram/first-channel-binding",
    "sasl-scram/first-unknown-user",
    "sasl-oauth/right", "sasl-oauth/right-bare", "sasl-oauth/expired", "sasl-oauth/signature",
    "sasl-oauth/right-after-expired", "sasl-oauth/another-authzid",
    "sasl-state/first-metadata", "sasl-state/first-plain", "sasl-state/first-too-large", "sasl-state/during-metadata",
    "sasl-state/versions-v3", "sasl-state/versions-then-metadata", "sasl-state/mechanism-gssapi-v1",
    "sasl-state/pipelined", "sasl-state/again", "sasl-state/versions-after",
)  # fmt: skip


def _over_tls(case: Case) -> Case:
    def moved(step: Step) -> Step:
        return replace(step, listener=SASL_SSL) if isinstance(step, Send) and step.listener != "PLAINTEXT" else step

    name = f"users-logins/{case.name.removeprefix('sasl-').replace('/', '-')}"
    return replace(case, name=name, steps=tuple(map(moved, case.steps)), box=BOX)


_BY_NAME = {case.name: case for case in LOGINS}
CASES: list[Case] = [_over_tls(_BY_NAME[name]) for name in _CHOSEN]
