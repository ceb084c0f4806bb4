"""The states of an authentication by SASL, as a table: what may come in each, and what follows.

Theory                        ApiVersions --answered--> HANDSHAKE_REQUEST
                             /                                 | mechanism chosen
         INITIAL_REQUEST -> HANDSHAKE_OR_VERSIONS_REQUEST ---> AUTHENTICATE --completed--> COMPLETE
                                                               ^                              | handshake again
                             REAUTH_BAD_MECHANISM <-- REAUTH_PROCESS_HANDSHAKE <--------------+
                                    mechanism changed           (mechanism unchanged leads to AUTHENTICATE)

         Any state but COMPLETE and FAILED leads to FAILED. An arrival without a step closes the connection.
         An ApiVersions request that cannot be answered well leaves the state as it is.
Source   clients/.../security/authenticator/SaslServerAuthenticator.java SaslState, authenticate, handleKafkaRequest,
         handleHandshakeRequest, handleApiVersionsRequest @ 4.4.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final


class SaslState(Enum):
    """Kafka's states, by Kafka's names."""

    INITIAL_REQUEST = auto()
    HANDSHAKE_OR_VERSIONS_REQUEST = auto()
    HANDSHAKE_REQUEST = auto()
    AUTHENTICATE = auto()
    COMPLETE = auto()
    FAILED = auto()
    REAUTH_PROCESS_HANDSHAKE = auto()
    REAUTH_BAD_MECHANISM = auto()


class SaslArrival(Enum):
    """The kinds of frames: a request of one of three APIs, or of any other."""

    API_VERSIONS = auto()
    SASL_HANDSHAKE = auto()
    SASL_AUTHENTICATE = auto()
    OTHER_REQUEST = auto()


class SaslStep(Enum):
    """The ways to handle an arrival."""

    ANSWER_VERSIONS = auto()
    CHOOSE_MECHANISM = auto()
    EVALUATE = auto()
    REFUSE_REQUEST = auto()


class SaslEvent(Enum):
    """The outcomes of a step."""

    REQUEST_READ = auto()
    VERSIONS_ANSWERED = auto()
    MECHANISM_CHOSEN = auto()
    MECHANISM_CHANGED = auto()
    COMPLETED = auto()
    HANDSHAKE_AGAIN = auto()
    FAILED = auto()


STEPS: Final[dict[tuple[SaslState, SaslArrival], SaslStep]] = {
    (SaslState.INITIAL_REQUEST, SaslArrival.API_VERSIONS): SaslStep.ANSWER_VERSIONS,
    (SaslState.INITIAL_REQUEST, SaslArrival.SASL_HANDSHAKE): SaslStep.CHOOSE_MECHANISM,
    (SaslState.HANDSHAKE_OR_VERSIONS_REQUEST, SaslArrival.API_VERSIONS): SaslStep.ANSWER_VERSIONS,
    (SaslState.HANDSHAKE_OR_VERSIONS_REQUEST, SaslArrival.SASL_HANDSHAKE): SaslStep.CHOOSE_MECHANISM,
    (SaslState.HANDSHAKE_REQUEST, SaslArrival.SASL_HANDSHAKE): SaslStep.CHOOSE_MECHANISM,
    (SaslState.REAUTH_PROCESS_HANDSHAKE, SaslArrival.SASL_HANDSHAKE): SaslStep.CHOOSE_MECHANISM,
    (SaslState.AUTHENTICATE, SaslArrival.SASL_AUTHENTICATE): SaslStep.EVALUATE,
    (SaslState.AUTHENTICATE, SaslArrival.API_VERSIONS): SaslStep.REFUSE_REQUEST,
    (SaslState.AUTHENTICATE, SaslArrival.SASL_HANDSHAKE): SaslStep.REFUSE_REQUEST,
    (SaslState.AUTHENTICATE, SaslArrival.OTHER_REQUEST): SaslStep.REFUSE_REQUEST,
}

TRANSITIONS: Final[dict[tuple[SaslState, SaslEvent], SaslState]] = {
    (SaslState.INITIAL_REQUEST, SaslEvent.REQUEST_READ): SaslState.HANDSHAKE_OR_VERSIONS_REQUEST,
    (SaslState.HANDSHAKE_OR_VERSIONS_REQUEST, SaslEvent.VERSIONS_ANSWERED): SaslState.HANDSHAKE_REQUEST,
    (SaslState.HANDSHAKE_OR_VERSIONS_REQUEST, SaslEvent.MECHANISM_CHOSEN): SaslState.AUTHENTICATE,
    (SaslState.HANDSHAKE_REQUEST, SaslEvent.MECHANISM_CHOSEN): SaslState.AUTHENTICATE,
    (SaslState.REAUTH_PROCESS_HANDSHAKE, SaslEvent.MECHANISM_CHOSEN): SaslState.AUTHENTICATE,
    (SaslState.REAUTH_PROCESS_HANDSHAKE, SaslEvent.MECHANISM_CHANGED): SaslState.REAUTH_BAD_MECHANISM,
    (SaslState.AUTHENTICATE, SaslEvent.COMPLETED): SaslState.COMPLETE,
    (SaslState.COMPLETE, SaslEvent.HANDSHAKE_AGAIN): SaslState.REAUTH_PROCESS_HANDSHAKE,
    **{
        (state, SaslEvent.FAILED): SaslState.FAILED
        for state in SaslState
        if state not in (SaslState.COMPLETE, SaslState.FAILED)
    },
}
