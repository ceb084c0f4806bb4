"""Members of a group join, leave, crash and restart, while the coordinator moves and its log refuses appends or is
frozen.

Oracle   No copy of the coordinator: rules for the responses to members, whichever broker sent them.
         Each partition has one owner in each generation. Each request gets one response in the end.
         After the faults the group settles within a bounded time: all live members are in one
         generation, which is newer than all before, and each partition has one owner.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.classic_members import ClassicMembers
from support.group_harness import GroupHarness
from support.stock_member import REBALANCE_MS, SESSION_MS, StockMember, Witness

from fakebroker.core.groups.classic.group import ClassicGroup
from fakebroker.protocol.error_code import ErrorCode

PARTITIONS = range(5)
STEP_MS = 500
MAX_MEMBERS = 5
WRITE_TIMEOUT_MS = 5_000
# Sessions of the dead end, the rest is told, joins, and syncs; each of these may be waited for once more.
SETTLES_MS = 2 * (SESSION_MS + REBALANCE_MS + WRITE_TIMEOUT_MS)
APPEND_ERRORS = (ErrorCode.not_enough_replicas, ErrorCode.message_too_large, ErrorCode.kafka_storage_error)


class GroupOfStockMembers(RuleBasedStateMachine):
    @initialize(delay_ms=st.sampled_from([0, 700, 3_000]))
    def begin(self, delay_ms: int) -> None:
        self.harness = GroupHarness(
            3, config={"group.initial.rebalance.delay.ms": str(delay_ms), "group.min.session.timeout.ms": "1000"}
        )
        self.members = ClassicMembers(self.harness)
        self.witness = Witness(PARTITIONS)
        self.everybody: list[StockMember] = []
        self.is_held = False

    @property
    def alive(self) -> list[StockMember]:
        return [member for member in self.everybody if member.is_alive and not member.is_fenced]

    # What happens.

    @precondition(lambda self: len(self.alive) < MAX_MEMBERS)
    @rule(instance=st.none() | st.sampled_from(["one", "two"]))
    def comes(self, instance: str | None) -> None:
        """Join as a new member. A static one may replace a live one, which is then fenced."""
        self.everybody.append(StockMember(self.members, self.witness, instance))

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def crashes(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.alive)).crash()

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.alive)).leave()

    @rule(steps=st.integers(1, 30))
    def time_passes(self, steps: int) -> None:
        for _ in range(steps):
            self.harness.advance(STEP_MS)
            self._act()

    @rule()
    def members_act(self) -> None:
        self._act()

    # Faults.

    @rule(code=st.sampled_from(APPEND_ERRORS))
    def the_log_refuses(self, code: ErrorCode) -> None:
        self.harness.fail_next_append(code)

    @rule(broker=st.integers(1, 3))
    def the_coordinator_moves(self, broker: int) -> None:
        if broker in self.harness.partition().isr:
            self.harness.move(broker)

    @rule()
    def the_log_is_frozen(self) -> None:
        self.is_held = not self.is_held
        if self.is_held:
            self.harness.hold()
        else:
            self.harness.commit()

    # What must hold.

    @invariant()
    def what_is_counted_is_what_there_is(self) -> None:
        if hasattr(self, "harness"):
            group = self.harness.shard().groups.get("g")
            if isinstance(group, ClassicGroup):
                group.roster.check_invariants()

    @invariant()
    def no_request_is_answered_twice(self) -> None:
        for member in getattr(self, "everybody", ()):
            assert all(len(request.answers) <= 1 for request in member.asked)

    def teardown(self) -> None:
        if not hasattr(self, "harness"):
            return
        if self.is_held:
            self.harness.commit()
        before = self.witness.last_generation
        for _ in range(SETTLES_MS // STEP_MS):
            self.harness.advance(STEP_MS)
            self._act()
            if self._is_settled():
                break
        for _ in range(SESSION_MS // STEP_MS):  # what a dead member, or one that left, still waits for
            self.harness.advance(STEP_MS)
            self._act()
        alive = self.alive
        if alive:
            assert self._is_settled(), [
                (member.member_id, member.generation, member.owned, member.asked[-1].answers) for member in alive
            ]
            assert {member.generation for member in alive} == {self.members.group.generation_id}
            assert self.members.group.generation_id >= before
            assert sorted(b"".join(member.owned or b"" for member in alive)) == list(PARTITIONS)
        for member in self.everybody:
            assert all(request.answers for request in member.asked), f"{member} was never answered"

    def _act(self) -> None:
        """Run until no member has anything to do at this time."""
        now_ms = self.harness.now.mono_ms
        for _ in range(1_000):
            if sum(member.act(now_ms) for member in self.everybody) == 0:
                return
        raise AssertionError("the members never come to rest")

    def _is_settled(self) -> bool:
        """Return True if the live members, and no others, share one stable generation."""
        alive = self.alive
        group = self.harness.shard().groups.get("g")
        if group is None or not alive:
            return not alive and (group is None or group.is_empty)
        assert isinstance(group, ClassicGroup)
        return (
            group.state_name() == "Stable"
            and group.members.keys() == {member.member_id for member in alive}
            and all(member.owned is not None and member.generation == group.generation_id for member in alive)
        )


GroupOfStockMembers.TestCase.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestGroupOfStockMembers = GroupOfStockMembers.TestCase
