"""Members join, leave, fall silent and lose responses, and topics come and go. No member gets a partition that another
one still owns, epochs only grow, and the group settles in the end."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support import doses
from support.consumer_member import ConsumerHarness, ModelMember

from fakebroker.protocol.errors import KafkaError

SESSION_MS = 45_000
ROUNDS_TO_SETTLE = (
    8  # a target, a revocation by another member, the assignment of what that frees, and as much again for a pattern
)
MEMBERS = st.integers(0, 4)
PATTERNS = [None, "t[ab]", "t.*", "x"]
TOPICS = ["ta", "tb", "tc"]


class Groups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.harness = ConsumerHarness()
        self.harness.topic("ta", 3)
        self.members = [ModelMember(self.harness, f"m{number}", ["ta"]) for number in range(5)]
        self.is_alive = [False] * 5
        self.group_epoch = 0
        self.topics = {"ta"}

    @rule(number=MEMBERS)
    def starts(self, number: int) -> None:
        self.is_alive[number] = True
        self.members[number].beat()

    @rule(
        number=MEMBERS,
        subscribed=st.sets(st.sampled_from(TOPICS), min_size=1),
        regex=st.sampled_from([None, "t[ab]", "t.*", "x"]),
    )
    def subscribes(self, number: int, subscribed: set[str], regex: str | None) -> None:
        """Subscribe a member to something. A member that joins without a subscription may get partitions that have no
        owner then, as in Kafka. Kafka treats the subscriptions of all members as equal until one of them differs."""
        member = self.members[number]
        if not member.is_in:
            member.topics, member.regex = tuple(subscribed), regex

    @rule(number=MEMBERS, is_answer_lost=st.booleans())
    def beats(self, number: int, is_answer_lost: bool) -> None:
        if self.is_alive[number]:
            self.members[number].beat(is_answer_lost)

    @rule(number=MEMBERS)
    def lets_go(self, number: int) -> None:
        if self.is_alive[number]:
            self.members[number].let_go()

    @rule(number=MEMBERS)
    def leaves(self, number: int) -> None:
        if self.members[number].is_in:
            self.members[number].leave()
            self.is_alive[number] = False

    @rule(number=MEMBERS)
    def dies(self, number: int) -> None:
        """Kill the process of a member: it sends nothing more, and loses its partitions."""
        self.is_alive[number] = False

    @rule(ms=st.sampled_from([100, 1_000, 6_000, SESSION_MS]))
    def time_passes(self, ms: int) -> None:
        self.harness.advance(ms)
        for number, member in enumerate(self.members):
            if ms >= SESSION_MS and not self.is_alive[number]:
                member.fall_out()

    @rule(name=st.sampled_from(TOPICS))
    def topic_comes_or_goes(self, name: str) -> None:
        if name in self.topics:
            self.harness.simulation.delete_topic(name)
        else:
            self.harness.topic(name, 3)
        self.topics ^= {name}

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        """Compare the partitions of the members that the coordinator has, by the members' own knowledge."""
        try:
            known = {member.member_id for member in self.harness.described().members}
        except KafkaError:
            return
        seen: dict[object, str] = {}
        for member in self.members:
            if member.member_id not in known or not member.is_in:
                continue
            for place in member.holds | member.wanted:
                assert seen.setdefault(place, member.member_id) == member.member_id, f"{place} is held twice"

    @invariant()
    def the_epoch_of_the_group_grows(self) -> None:
        try:
            epoch = self.harness.described().epoch
        except KafkaError:
            return
        assert epoch >= self.group_epoch
        self.group_epoch = epoch

    @precondition(lambda self: any(self.is_alive))
    @rule()
    def settles(self) -> None:
        """Let each live member send a heartbeat every five seconds, and release the partitions that it has to."""
        self.harness.advance(SESSION_MS)
        for number, member in enumerate(self.members):
            if not self.is_alive[number]:
                member.fall_out()
        alive = [member for number, member in enumerate(self.members) if self.is_alive[number]]
        for _ in range(ROUNDS_TO_SETTLE):
            for member in alive:
                member.beat()
                member.let_go()
            self.harness.advance(5_000)
        described = self.harness.described()
        assert described.state == "Stable"
        assert {member.member_id for member in described.members} == {member.member_id for member in alive}
        for member in alive:
            [description] = [
                described_member
                for described_member in described.members
                if described_member.member_id == member.member_id
            ]
            reconciled = {(topic.topic_id, index) for topic in description.assignment for index in topic.partitions}
            existing = {place for place in member.holds if self._exists(place[0])}
            assert existing == reconciled
            assert sorted(description.assignment) == sorted(description.target)
        wanted = {
            (self.harness.topic_id(name), index)
            for name in self.topics
            if any(self._is_subscribed(member, name) for member in alive)
            for index in range(3)
        }
        assert wanted <= {place for member in alive for place in member.holds}

    def _exists(self, topic_id: object) -> bool:
        return any(self.harness.topic_id(name) == topic_id for name in self.topics)

    def _is_subscribed(self, member: ModelMember, name: str) -> bool:
        if member.regex is None:
            return name in member.topics
        return {"t[ab]": name in ("ta", "tb"), "t.*": True, "x": False}[member.regex]


TestGroups = Groups.TestCase
TestGroups.settings = settings(max_examples=doses.count(20, 100), stateful_step_count=40, deadline=None)
