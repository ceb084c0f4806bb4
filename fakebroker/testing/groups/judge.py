"""What must hold of a group, whoever coordinates it: told by its members, judged by rules that know no broker.

    history = GroupHistory()
    history.owns("me", generation, [("orders", 0)])         # told by SyncGroup, or to a consumer's rebalance listener
    history.gives_up("me", [("orders", 0)])                 # before it says so
    history.resumes("me", ("orders", 0), offset)            # where it begins: the committed offset, or where it must
    history.reads("me", ("orders", 0), offset)              # each record that it processed
    history.commits("me", ("orders", 0), offset)            # it asks; what comes of it is told next, if anything
    history.committed("me", ("orders", 0), offset, generation)
    assert not history.findings, describe(history.findings)

Theory   two owners       a partition was given to two members in one generation (with KIP-848: member epoch), or to one
                          while another held it for sure (`holds`)
         above watermark  a record was read that was not yet on all in-sync replicas, if the watermark is told
         skipped          a record was read before another one of its partition that nobody had read
         twice            a record was read again, though its reading had been committed when its reader began, or by
                          the same member without beginning again
         commit lost      a member was told to begin before what had been acknowledged, or behind what anybody committed
         stale commit     a commit was acknowledged to a generation though a newer one had been told before
         unsettled        told by whoever waits for a group in vain
         So a group whose members commit what they have processed reads everything at least once, in order, and nothing
         twice but what was read between a commit and a crash.
Limit    One group. A topic that loses records (retention, unclean elections) is read from a later offset: `forget` it.
"""

from __future__ import annotations

from collections.abc import Iterable

from fakebroker.core.journal.events import Event, LeaderChanged, WatermarkMoved
from fakebroker.testing.history import Finding

TWO_OWNERS, ABOVE_WATERMARK, SKIPPED, TWICE = "two owners", "above watermark", "skipped", "twice"
COMMIT_LOST, STALE_COMMIT, UNSETTLED = "commit lost", "stale commit", "unsettled"
GROUP_KINDS = (TWO_OWNERS, ABOVE_WATERMARK, SKIPPED, TWICE, COMMIT_LOST, STALE_COMMIT, UNSETTLED)

Place = tuple[str, int]  # topic and partition


class _Partition:
    """`read_to`: everything below was read by somebody. `acknowledged`: the last commit of which a member was told."""

    def __init__(self) -> None:
        self.began: int | None = None
        self.read_to = 0
        self.acknowledged: int | None = None
        self.acknowledged_as = 0  # the number of the commit
        self.tried: set[tuple[str, int]] = set()  # (member, offset) that may or may not have come
        self.generation = -1  # the newest in which it had an owner
        self.positions: dict[str, tuple[int, int]] = {}  # of members: next offset, what was committed when they began
        self.highest_read = -1
        self.held = "", 0  # by whom, until when for sure


class GroupHistory:
    """What the members of one group tell, as it happens. `findings` are what is not as it should be."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._partitions: dict[Place, _Partition] = {}
        self._owners: dict[tuple[int, Place], str] = {}
        self._asked: dict[tuple[str, Place, int], tuple[int, int]] = {}  # newest generation then, number
        self._commits = 0

    def owns(self, member: str, generation: int, places: Iterable[Place], now_ms: int | None = None) -> None:
        """The member was told, in this generation or epoch of its own, that it owns these; when, if `holds` is told."""
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
        """No coordinator may take these from the member before that time: it was heard of, and nothing has expired."""
        for place in places:
            self._of(place).held = member, until_ms

    def gives_up(self, member: str, places: Iterable[Place]) -> None:
        """The member does not read these any more, and is about to say so, or is gone."""
        for place in places:
            if self._of(place).held[0] == member:
                self._of(place).held = "", 0

    def resumes(self, member: str, place: Place, offset: int, committed: int | None = None) -> None:
        """The member begins to read at an offset. `committed`: what it was told is committed, -1 if nothing."""
        partition = self._of(place)
        least = partition.acknowledged
        if committed is not None:
            tried = {each for _, each in partition.tried}
            if least is not None and committed not in {least, *tried}:
                what = f"{member} is told that {committed} is committed, and {least} was acknowledged"
                self._add(COMMIT_LOST, place, committed, what)
            elif least is None and committed >= 0 and committed not in tried:
                self._add(COMMIT_LOST, place, committed, f"{member} is told a commit that nobody asked for")
        if partition.began is None:
            partition.began = partition.read_to = offset
        baseline = least if committed is None else committed
        partition.positions[member] = offset, -1 if baseline is None else baseline

    def reads(self, member: str, place: Place, offset: int, watermark: int | None = None) -> None:
        """The member has processed a record; the watermark of that moment, if it is known."""
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
            self._add(SKIPPED, place, offset, f"{member} read it, and nobody has read {partition.read_to}")
        partition.read_to = max(partition.read_to, offset + 1)
        partition.positions[member] = max(offset + 1, position), committed

    def commits(self, member: str, place: Place, offset: int) -> None:
        """The member asks that an offset be committed."""
        partition = self._of(place)
        partition.tried.add((member, offset))
        self._commits += 1
        self._asked[member, place, offset] = partition.generation, self._commits

    def committed(self, member: str, place: Place, offset: int, generation: int) -> None:
        """The member was told that its commit has succeeded."""
        partition = self._of(place)
        newest, number = self._asked.pop((member, place, offset), (-1, self._commits))
        if newest > generation:
            what = f"{member} of generation {generation} was told NONE, and {newest} had been told before"
            self._add(STALE_COMMIT, place, offset, what)
        if number < partition.acknowledged_as:
            return  # it was asked before what is acknowledged, and told late: it may have come before that, or after
        partition.acknowledged, partition.acknowledged_as = offset, number
        partition.tried = {each for each in partition.tried if each[0] != member}  # its own came before

    def refused(self, member: str, place: Place, offset: int) -> None:
        """The commit of the member has failed for good: it was fenced, or its generation is over."""
        self._asked.pop((member, place, offset), None)
        self._of(place).tried.discard((member, offset))

    def forget(self, place: Place) -> None:
        """The topic is gone, or lost records: what was read and committed there counts no more."""
        self._partitions.pop(place, None)

    def unsettled(self, what: str) -> None:
        """Somebody waited for the group in vain."""
        self.findings.append(Finding(UNSETTLED, "", -1, -1, what))

    def read_to(self, place: Place) -> int:
        """Everything below was read by somebody."""
        return self._of(place).read_to

    def check_watermarks(self, journal: Iterable[Event]) -> list[Finding]:
        """What was read by now and lies above every watermark that a journal tells. A test that reads while time passes
        and cannot know the watermark of each moment asks this."""
        highest: dict[Place, int] = {}
        for event in journal:
            if isinstance(event, WatermarkMoved | LeaderChanged):
                place = event.topic, event.partition
                highest[place] = max(highest.get(place, 0), event.high_watermark)
        found = []
        for place, partition in self._partitions.items():
            if partition.highest_read >= highest.get(place, 0):
                what = f"{place[0]}-{place[1]} was read to {partition.highest_read}"
                what += f", the watermark is {highest.get(place, 0)}"
                found.append(Finding(ABOVE_WATERMARK, *place, partition.highest_read, what))
        return found

    def _of(self, place: Place) -> _Partition:
        return self._partitions.setdefault(place, _Partition())

    def _add(self, kind: str, place: Place, offset: int, what: str) -> None:
        where = f"{place[0]}-{place[1]}" + (f" offset {offset}" if offset >= 0 else "")
        self.findings.append(Finding(kind, *place, offset, f"{where}: {what}"))
