"""The whole cluster as a Hypothesis state machine, in virtual time, with the oracle comparing after every step.

    TestCluster = ClusterMachine.TestCase

A failure ends with the command that runs it again without Hypothesis: `fakebroker replay 0 --plan "..."`.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from fakebroker.testing.messages import Violation
from fakebroker.testing.plan import Action, action
from fakebroker.testing.replay import command
from fakebroker.testing.run import EVERY_STEP, Run
from fakebroker.testing.strategies import Topology, actions, topologies


class ClusterMachine(RuleBasedStateMachine):
    """Clients of every model, followers and faults. `run` is the simulation; `steps` counts the steps of all
    machines."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.run = Run(look_every=EVERY_STEP)

    def perform(self, step: Action) -> None:
        """Perform a step, and check everything that must hold after it."""
        type(self).steps += 1
        try:
            self.run.perform(step)
        except Violation as violation:
            violation.add_note(f"Again: {command(self.run.seed, plan=self.run.performed)}")
            raise

    @initialize(topology=topologies(), unclean=st.integers(0, 7).map(lambda drawn: int(drawn == 7)))
    def begin(self, topology: Topology, unclean: int) -> None:
        self.perform(action("cluster", topology.brokers, topology.lag_max_ms))
        for _, partitions, replicas, min_isr in topology.topics:
            self.perform(action("topic", partitions, replicas, min_isr, unclean))

    @rule(step=actions("produce"))
    def produce(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("burst"))
    def pipeline(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("fetch"))
    def consume(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("committed"))
    def consume_what_is_committed(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("transact"))
    def transact(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("end"))
    def end_transaction(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("transact"), end=actions("end"), ms=st.sampled_from((0, 1, 40, 500)), reads=st.booleans())
    def transact_and_end(self, step: Action, end: Action, ms: int, reads: bool) -> None:
        """End the transaction of the same producer in the same partitions, possibly with a consumer that waits for
        it."""
        producer, _, _, bits, _ = step.arguments
        self.perform(step)
        if reads:
            self.perform(action("committed", 0, bits.bit_length() - 1, 0, 400))
        self.perform(action("advance", ms))
        self.perform(action("end", producer, end.arguments[1], end.arguments[2], bits))

    @rule(step=actions("garbage"))
    def send_garbage(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("disconnect"))
    def disconnect(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("followers"))
    def freeze_lag_or_resume(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("stop"))
    def stop_broker(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("start"))
    def start_broker(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("kill", "pause", "resume"))
    def kill_or_pause_broker(self, step: Action) -> None:
        self.perform(step)

    @rule(step=actions("move"))
    def move_leader(self, step: Action) -> None:
        self.perform(step)

    @rule(topic=st.integers(0, 2), steps=st.lists(actions("produce"), min_size=1, max_size=2))
    def shrink_isr(self, topic: int, steps: list[Action]) -> None:
        """Freeze the followers of a topic for so long that they leave the ISR, if records are written."""
        self.perform(action("followers", 1, topic, -1, -1))
        for step in steps:
            self.perform(step)
        self.perform(action("advance", self.run.performed[0].arguments[1] * 3 // 2 + 1))

    @rule(step=actions("recreate", "delete"))
    def change_settings(self, step: Action) -> None:
        """Create topics anew with other settings, or delete them. The oracle has no changes of the settings of existing
        topics."""
        self.perform(step)

    @rule(step=actions("advance", "jump"))
    def advance(self, step: Action) -> None:
        self.perform(step)

    def teardown(self) -> None:
        if self.run.performed:
            try:
                self.run.finish()
            except Violation as violation:
                violation.add_note(f"Again: {command(self.run.seed, plan=self.run.performed)}")
                raise
