"""The judge of a group: its members report, and rules that do not depend on the coordinator are checked.

    history = GroupHistory()
    history.owns("me", generation, [("orders", 0)])         # from SyncGroup, or in a rebalance listener
    history.gives_up("me", [("orders", 0)])                 # before the member confirms it

    history.resumes("me", ("orders", 0), offset)            # the start: the committed offset, or another one
    history.reads("me", ("orders", 0), offset)              # each processed record

    history.commits("me", ("orders", 0), offset)            # a commit request; its result follows, if there is one
    history.committed("me", ("orders", 0), offset, generation)
    assert not history.findings, describe(history.findings)

Theory   two owners       two members owned a partition in one generation (with KIP-848: member epoch), or one got it
                          while another certainly held it (`holds`)
         above watermark  a member read a record that was not on all in-sync replicas, if the watermark is reported
         skipped          a member read a record before an earlier one of its partition that no member had read
         twice            a member read a record again, though this was committed before its start, or without a new
                          start
         commit lost      a member got a start offset before an acknowledged commit, or beyond all commit requests
         stale commit     a commit of a generation was acknowledged, though a newer generation was assigned before
         unsettled        a wait for the group failed

         So a group that commits only processed records reads everything at least once, in order. It reads twice only
         what was read between a commit and a crash.
Limit    One group. If a topic loses records (retention, unclean elections), reading continues at a later offset: call
         `forget` for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from fakebroker.core.journal.events import Event, LeaderChanged, WatermarkMoved
from fakebroker.testing.history import Finding

TWO_OWNERS, ABOVE_WATERMARK, SKIPPED, TWICE = "two owners", "above watermark", "skipped", "twice"
COMMIT_LOST, STALE_COMMIT, UNSETTLED = "commit lost", "stale commit", "unsettled"
GROUP_KINDS = (TWO_OWNERS, ABOVE_WATERMARK, SKIPPED, TWICE, COMMIT_LOST, STALE_COMMIT, UNSETTLED)

Place = tuple[str, int]  # topic and partition


class _JudgedPartition:
    """The state of a partition. `read_to`: all lower offsets were read. `acknowledged`: the last acknowledged
    commit."""

    def __init__(self) -> None:
        self.began: int | None = None
        self.read_to = 0
        self.acknowledged: int | None = None
        self.acknowledged_as = 0  # the number of the commit
        self.tried: set[tuple[str, int]] = set()  # (member, offset) of commits that may or may not be applied
        self.generation = -1  # the newest with an owner
        self.positions: dict[str, tuple[int, int]] = {}  # by member: next offset, committed offset at its start
        self.highest_read = -1
        self.held = "", 0  # the member that certainly holds it, and until when


class GroupHistory:
    """The reports of the members of one group, as they happen. `findings` are the violations of rules."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._partitions: dict[Place, _JudgedPartition] = {}
        self._owners: dict[tuple[int, Place], str] = {}
        self._asked: dict[tuple[str, Place, int], tuple[int, int]] = {}  # newest generation at the request, number
        self._commits = 0

    def owns(self, member: str, generation: int, places: Iterable[Place], now_ms: int | None = None) -> None:
        """Report an assignment of partitions in this generation or member epoch. `now_ms` is needed if `holds` is
        used."""
        for place in places:
            partition = self._of(place)
            partition.generation = max(partition.generation, generation)
            owner = self._owners.setdefault((generation, place), member)
            if owner != member:
                self._add(TWO_OWNERS, place, -1, f"is owned by {owner} and by {member} in generation {generation}")
            holder, until_ms = partition.held
            if now_ms is not None and holder not in ("", member) and now_ms < until_ms:
                self._add(
                    TWO_OWNERS, place, -1, f"is given to {member} {until_ms - now_ms} ms before {holder} may lose it"
                )

    def holds(self, member: str, places: Iterable[Place], until_ms: int) -> None:
        """Report that no coordinator can take these from the member before `until_ms`: its session cannot expire
        earlier."""
        for place in places:
            self._of(place).held = member, until_ms

    def gives_up(self, member: str, places: Iterable[Place]) -> None:
        """Report that the member stops reading these, before it confirms, or when it is gone."""
        for place in places:
            if self._of(place).held[0] == member:
                self._of(place).held = "", 0

    def resumes(self, member: str, place: Place, offset: int, committed: int | None = None) -> None:
        """Report the offset at which the member starts. `committed` is the committed offset that it got, -1 if there is
        none."""
        partition = self._of(place)
        least = partition.acknowledged
        if committed is not None:
            tried = {requested for _, requested in partition.tried}
            if least is not None and committed not in {least, *tried}:
                what = f"{member} is told that {committed} is committed, and {least} was acknowledged"
                self._add(COMMIT_LOST, place, committed, what)
            elif least is None and committed >= 0 and committed not in tried:
                self._add(COMMIT_LOST, place, committed, f"{member} got a commit that no member requested")
        if partition.began is None:
            partition.began = partition.read_to = offset
        baseline = least if committed is None else committed
        partition.positions[member] = offset, -1 if baseline is None else baseline

    def reads(self, member: str, place: Place, offset: int, watermark: int | None = None) -> None:
        """Report a processed record, and the high watermark at that time, if known."""
        partition = self._of(place)
        partition.highest_read = max(partition.highest_read, offset)
        if watermark is not None and offset >= watermark:
            self._add(ABOVE_WATERMARK, place, offset, f"{member} read it, and the watermark was {watermark}")
        position, committed = partition.positions.get(member, (offset, -1))
        if offset < position:
            self._add(TWICE, place, offset, f"{member} read it again without beginning again, from {position}")
        elif offset < committed:
            self._add(TWICE, place, offset, f"{member} read it, and {committed} was committed when it began")
        if offset > partition.read_to:
            self._add(SKIPPED, place, offset, f"{member} read it, and no member has read {partition.read_to}")
        partition.read_to = max(partition.read_to, offset + 1)
        partition.positions[member] = max(offset + 1, position), committed

    def commits(self, member: str, place: Place, offset: int) -> None:
        """Report a commit request of the member."""
        partition = self._of(place)
        partition.tried.add((member, offset))
        self._commits += 1
        self._asked[member, place, offset] = partition.generation, self._commits

    def committed(self, member: str, place: Place, offset: int, generation: int) -> None:
        """Report a successful commit of the member."""
        partition = self._of(place)
        newest, number = self._asked.pop((member, place, offset), (-1, self._commits))
        if newest > generation:
            what = f"{member} of generation {generation} was told NONE, and {newest} had been told before"
            self._add(STALE_COMMIT, place, offset, what)
        if number < partition.acknowledged_as:
            return  # an older request with a late response: it may apply before or after the acknowledged one
        partition.acknowledged, partition.acknowledged_as = offset, number
        partition.tried = {commit for commit in partition.tried if commit[0] != member}  # its earlier ones are settled

    def refused(self, member: str, place: Place, offset: int) -> None:
        """Report a commit that failed for good: the member was fenced, or its generation is over."""
        self._asked.pop((member, place, offset), None)
        self._of(place).tried.discard((member, offset))

    def forget(self, place: Place) -> None:
        """Forget what was read and committed: the topic was deleted, or has lost records."""
        self._partitions.pop(place, None)

    def unsettled(self, what: str) -> None:
        """Report a wait for the group that failed."""
        self.findings.append(Finding(UNSETTLED, "", -1, -1, what))

    def read_to(self, place: Place) -> int:
        """Return the offset below which everything was read."""
        return self._of(place).read_to

    def check_watermarks(self, journal: Iterable[Event]) -> list[Finding]:
        """Return findings for reads above every high watermark in the journal. Use this if the watermark is not known
        at the time of each read."""
        highest: dict[Place, int] = {}
        for event in journal:
            if isinstance(event, WatermarkMoved | LeaderChanged):
                place = event.topic, event.partition
                highest[place] = max(highest.get(place, 0), event.high_watermark)
        findings = []
        for place, partition in self._partitions.items():
            if partition.highest_read >= highest.get(place, 0):
                what = f"{place[0]}-{place[1]} was read to {partition.highest_read}"
                what += f", the watermark is {highest.get(place, 0)}"
                findings.append(Finding(ABOVE_WATERMARK, *place, partition.highest_read, what))
        return findings

    def _of(self, place: Place) -> _JudgedPartition:
        return self._partitions.setdefault(place, _JudgedPartition())

    def _add(self, kind: str, place: Place, offset: int, what: str) -> None:
        where = f"{place[0]}-{place[1]}" + (f" offset {offset}" if offset >= 0 else "")
        self.findings.append(Finding(kind, *place, offset, f"{where}: {what}"))
