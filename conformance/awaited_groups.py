"""The steps of a case that wait for groups and their coordinators, by asking."""

from __future__ import annotations

from conformance import group_frames
from conformance.group_frames import DESCRIBE_GROUPS, FIND_COORDINATOR, LIST_GROUPS
from conformance.scenario import AwaitCoordinator, AwaitGroup
from conformance.targets.target import Target, ask
from fakebroker.protocol.error_code import ErrorCode, kafka_name

_POLL_MS = 5


def await_coordinator(target: Target, step: AwaitCoordinator) -> None:
    limit = target.now_s() + step.within_ms / 1000
    connection = target.connect(step.broker)
    try:
        while True:
            response = ask(
                connection, target, FIND_COORDINATOR, 3, group_frames.find_coordinator(step.group, version=3)
            )
            code = response.error_code
            if code is ErrorCode.none:
                coordinator = target.connect(response.node_id)
                try:
                    frame = group_frames.describe_groups([step.group], version=5)
                    code = ask(coordinator, target, DESCRIBE_GROUPS, 5, frame).groups[0].error_code
                finally:
                    coordinator.close()
                if code is ErrorCode.none:
                    return
            if target.now_s() > limit:
                raise RuntimeError(f"group {step.group} has no coordinator: {kafka_name(code)}")
            target.pause(_POLL_MS)
    finally:
        connection.close()


def await_group(target: Target, step: AwaitGroup) -> None:
    limit = target.now_s() + step.within_ms / 1000
    connection = target.connect(step.broker)
    try:
        while True:
            listed = ask(connection, target, LIST_GROUPS, 4, group_frames.list_groups(version=4)).groups
            state = next((group.group_state for group in listed if group.group_id == step.group), "Dead")
            frame = group_frames.describe_groups([step.group], version=5)
            [described] = ask(connection, target, DESCRIBE_GROUPS, 5, frame).groups
            members = len(described.members)
            if state == step.state and step.members in (None, members):
                return
            if target.now_s() > limit:
                raise RuntimeError(f"group {step.group} is not {step.state} but {state}, with {members} members")
            target.pause(_POLL_MS)
    finally:
        connection.close()
