"""The fixtures, the marker and the settings, in real runs of pytest."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import pytest
from support import doses

pytest_plugins = ["pytester"]
PLUGIN = "fakebroker.testing.plugin.hooks"
Run = Callable[..., pytest.RunResult]
IS_INSTALLED = pytest.mark.skipif(
    not any(point.value == "fakebroker.testing.plugin.hooks" for point in entry_points(group="pytest11")),
    reason="pytest finds plugins of packages that are installed",
)

NOTHING_TO_LEARN = """
    import socket

    def connects(server):
        host, port = server.split(":")
        socket.create_connection((host, int(port)), timeout=60).close()
        return True

    def test_a_broker(kafka_broker):
        assert "," not in kafka_broker.bootstrap_servers
        assert connects(kafka_broker.bootstrap_servers)

    def test_a_cluster(kafka_cluster):
        assert [connects(server) for server in kafka_cluster.bootstrap_servers.split(",")] == [True] * 3
        assert kafka_cluster.clock.kind == "real"

    def test_a_clock(kafka_clock):
        kafka_clock.advance(70_000)
        assert kafka_clock.elapsed_ms == 70_000

    def test_the_clock_of_a_broker(kafka_broker, kafka_clock):
        kafka_clock.advance(5)
        assert kafka_broker.clock.elapsed_ms == 5
        assert len(kafka_broker.endpoints) == 1
"""


@IS_INSTALLED
# Every day pytest looks for the entry point of that name. At night it looks for all plugins, which takes seconds.
@pytest.mark.parametrize("plugins", doses.nightly_after(1, ["fakebroker", ""]))
def test_without_a_name_to_learn(run: Run, plugins: str) -> None:
    run(NOTHING_TO_LEARN, plugins=plugins.split(), fresh=True).assert_outcomes(passed=4)


MARKED = """
    import pytest

    pytestmark = pytest.mark.kafka(brokers=2, configs={"message.max.bytes": 500, "num.partitions": 7})

    @pytest.mark.kafka(
        topics={"a": 3, "b": {"partitions": 2, "configs": {"min.insync.replicas": 2}}},
        clock="manual", configs={"message.max.bytes": 600}, followers={"a": "frozen"}, seed=5,
    )
    def test_it(kafka_cluster):
        created = {}
        for event in kafka_cluster.journal:
            if type(event).__name__ == "TopicCreated":
                created[event.topic] = event.replicas
        assert {topic: len(replicas) for topic, replicas in created.items()} == {"a": 3, "b": 2}
        assert len(kafka_cluster.brokers) == 2
        assert kafka_cluster.clock.kind == "manual"
        kafka_cluster.clock.advance(31_000)  # who is frozen has nothing to copy, and stays in sync
        kafka_cluster.create_topic("c")
        (topic,) = [event for event in kafka_cluster.journal if getattr(event, "topic", "") == "c"
                    and type(event).__name__ == "TopicCreated"]
        assert len(topic.replicas) == 7  # of the module

    @pytest.mark.kafka(brokers=1)
    class TestClass:
        def test_the_class(self, kafka_cluster):
            assert len(kafka_cluster.brokers) == 1

        @pytest.mark.kafka(brokers=4)
        def test_the_method(self, kafka_cluster):
            assert len(kafka_cluster.brokers) == 4

    @pytest.mark.kafka(brokers=1, listeners="PLAINTEXT://127.0.0.2:0", topics="one")
    def test_listeners(kafka_cluster):
        assert kafka_cluster.bootstrap_servers.startswith("127.0.0.2:")

    @pytest.mark.kafka(
        users={"alice": "secret"}, acls=[{"resource_type": "topic", "name": "a", "operation": "read"}], topics=["a"]
    )
    def test_users_and_acls(kafka_cluster):
        assert [listener.security_protocol for listener in kafka_cluster.listeners] == ["SASL_PLAINTEXT"]
        assert list(kafka_cluster.users.list()) == ["alice"]
        assert len(kafka_cluster.acls.list()) == 1

    @pytest.mark.kafka(clock="real")
    def test_the_clock_that_was_asked_for(kafka_cluster, kafka_clock):
        assert kafka_clock.kind == "real"
"""


def test_the_marker(run: Run) -> None:
    run(MARKED).assert_outcomes(passed=6)


SETTINGS = """
kafka_brokers = 2
kafka_clock = manual
kafka_followers = frozen
kafka_configs =
    num.partitions=4
    message.max.bytes = 500
kafka_users = alice=secret
kafka_topics =
    orders:3
    payments:2:2,min.insync.replicas=2
"""
BY_SETTINGS = """
    import pytest

    def topics(kafka):
        return {
            event.topic: event.replicas for event in kafka.journal if type(event).__name__ == "TopicCreated"
        }

    def test_settings(kafka_cluster):
        kafka_cluster.create_topic("other")
        assert {name: len(each) for name, each in topics(kafka_cluster).items()} == {
            "orders": 3, "payments": 2, "other": 4
        }
        assert len(kafka_cluster.brokers) == 2
        assert kafka_cluster.clock.kind == "manual"
        assert list(kafka_cluster.users.list()) == ["alice"]

    @pytest.mark.kafka(topics=["mine"], clock="auto", configs={"num.partitions": 5})
    def test_above_them(kafka_cluster):
        kafka_cluster.create_topic("other")
        assert {name: len(each) for name, each in topics(kafka_cluster).items()} == {"mine": 5, "other": 5}
        assert kafka_cluster.clock.kind == "auto"

    @pytest.mark.kafka(topics=[])
    def test_one_broker(kafka_broker):
        assert len(kafka_broker.brokers) == 1
"""


def test_settings(run: Run) -> None:
    run(BY_SETTINGS, ini=SETTINGS).assert_outcomes(passed=3)


# A slip is one sentence.

SLIPS = {
    "topic='x'": "it has no argument 'topic'; did you mean 'topics'?",
    "shards=3": "it has no argument 'shards'; there are acls, brokers, clock, configs, *",
    "3": "its arguments need names, as in brokers=3: 3 has none",
    "brokers=0": "a cluster has 1 to 100 brokers, not 0",
    "brokers='3'": "brokers must be a whole number or None, not '3'",
    "clock='fast'": "a clock is real, manual or auto, not 'fast'",
    "topics={'o': {'replicas': 2}}": "topic 'o' has no 'replicas'; *replication_factor*",
    "topics={'o': 1.5}": "topic 'o' needs a number of partitions, or a mapping: *not 1.5",
    "topics=5": 'topics={"orders": 3} or *, not topics=5',
    "topics=['a b']": "*Topic name*",
    "topics=['orders:3']": """Topic name is invalid: 'orders:3' has a colon; write topics={"orders": 3}""",
    "topics='orders:3:2'": """Topic name is invalid: 'orders:3:2' has a colon; write topics={"orders": 3} or *""",
    "topics={'o': {'replication_factor': 4}}": "Unable to replicate the partition 4 time(s): *",
    "listeners='SASL_SSL'": "listeners must be a list of texts, as in [[]\"SASL_SSL\"], not 'SASL_SSL'",
    "configs=['a=b']": "configs must be a mapping, as in *, not *a=b*",
    "configs={'message.max.byte': 5}": "Unknown configuration 'message.max.byte'*",
    "followers='asleep'": "*'asleep'*",
    "followers={'nobody': 'frozen'}": "*nobody*",
    "followers=3": 'followers must be "frozen" for all topics, or {"orders": "frozen"} for one, not 3',
    "faults='drop'": "faults must be a list, not 'drop'",
    "listeners=['x']": "a listener is NAME=PROTOCOL://HOST:PORT*, or only a PROTOCOL (*SASL_SSL)*, not 'x'",
    "users=['alice']": "users must be passwords by name, *, not *alice*",
    "users={'alice': ''}": "the user 'alice' needs a password",
    "acls=[{'name': 'x'}]": "acls[[]0]: 'resource_type' is missing; *",
    "listeners=5": "listeners must be a list of texts; *, not 5",
}


def test_a_slip_is_one_sentence(run: Run) -> None:
    tests = "".join(
        f"    @pytest.mark.kafka({slip})\n    def test_{index}(kafka_cluster): pass\n\n"
        for index, slip in enumerate(SLIPS)
    )
    result = run(f"    import pytest\n\n{tests}", "--tb=short")

    result.assert_outcomes(errors=len(SLIPS))
    for index, sentence in enumerate(SLIPS.values()):
        result.stdout.fnmatch_lines([f"@pytest.mark.kafka for test_it.py::test_{index}: {sentence}"])
    result.stdout.no_fnmatch_line("*During handling*")


@pytest.mark.parametrize(
    ("ini", "sentence"),
    [
        ("kafka_brokers = three", "kafka_brokers must be a whole number, not 'three'"),
        ("kafka_brokers = 0", "a cluster has 1 to 100 brokers, not 0"),
        (
            "kafka_configs = message.max.bytes",
            "kafka_configs has 'message.max.bytes' where a setting name=value*",
        ),
        ("kafka_users = alice", "kafka_users 'alice' is not NAME=PASSWORD, as in alice=secret"),
        ("kafka_topics = orders:x", "kafka_topics 'orders:x' is not NAME*"),
    ],
)
def test_a_slip_in_the_settings(run: Run, ini: str, sentence: str) -> None:
    result = run("    def test_it(kafka_cluster): pass", ini=ini)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"pytest's settings for test_it.py::test_it: {sentence}"])


MANY_AS_ONE = """
    import pytest

    @pytest.mark.kafka(brokers=5)
    def test_it(kafka_broker): pass

    @pytest.mark.kafka(brokers=1)
    def test_one(kafka_broker):
        assert len(kafka_broker.brokers) == 1
"""


def test_kafka_broker_is_never_several_brokers(run: Run) -> None:
    result = run(MANY_AS_ONE)

    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(
        ["@pytest.mark.kafka for test_it.py::test_it: kafka_broker has one broker; for brokers=5 use kafka_cluster"]
    )


def test_two_clusters_in_one_test(run: Run) -> None:
    result = run("    def test_it(kafka_cluster, kafka_broker): pass")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["a test has one cluster: kafka_cluster or kafka_broker, not both as *test_it has"])


# Many tests.

MANY = """
    import pytest

    @pytest.mark.parametrize("number", range(30))
    def test_it(kafka_cluster, number):
        kafka_cluster.create_topic("t")  # would raise if it were there
"""


def test_each_test_has_a_cluster_of_its_own(run: Run) -> None:
    run(MANY).assert_outcomes(passed=30)


def test_each_test_has_a_cluster_of_its_own_in_several_processes(run: Run) -> None:
    run(MANY, "-n", "2").assert_outcomes(passed=30)


LEFT = """
    import threading

    def test_one(kafka_cluster): pass

    def test_two():
        assert "fakebroker" not in [thread.name for thread in threading.enumerate()]
"""


def test_nothing_is_left_of_it(run: Run) -> None:
    run(LEFT).assert_outcomes(passed=2)


UNUSED = """
    import sys

    def test_it():
        assert "fakebroker.testing.plugin.hooks" in sys.modules
        ours = {name for name in sys.modules if name.split(".")[0] in ("fakebroker", "timingwheel", "kio", "uvloop")}
        of_plugin = {name for name in ours if name.startswith("fakebroker.testing")}
        assert of_plugin == {
            "fakebroker.testing", "fakebroker.testing.plugin",
            "fakebroker.testing.plugin.hooks", "fakebroker.testing.plugin.ini",
            "fakebroker.testing.plugin.shadowing", "fakebroker.testing.plugin.tracebacks",
            "fakebroker.testing.plugin.trials",
            "fakebroker.testing.plugin.cluster_request",
        }
        assert ours - of_plugin <= {"fakebroker", "fakebroker.core", "fakebroker.core.log", "fakebroker.spelling"}
"""


def test_a_test_without_fixtures_does_not_import_the_cluster(run: Run) -> None:
    run(UNUSED, fresh=True).assert_outcomes(passed=1)


OTHER_PLUGIN = """
import pytest

@pytest.fixture(scope="session")
def kafka_broker():
    return "the other one"
"""
USED = """
    def test_it(kafka_broker):
        assert {condition}
"""


@pytest.mark.parametrize("is_last", [True, False])
def test_a_fixture_that_another_plugin_has_too_is_told(run: Run, pytester: pytest.Pytester, is_last: bool) -> None:
    pytester.makepyfile(another_plugin=OTHER_PLUGIN)
    plugins = [PLUGIN, "another_plugin"] if is_last else ["another_plugin", PLUGIN]
    condition = "kafka_broker == 'the other one'" if is_last else "kafka_broker.bootstrap_servers"
    result = run(USED.format(condition=condition), plugins=plugins)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [f"fakebroker: another_plugin has a fixture kafka_broker too, and tests get that of {plugins[1]}; `-p no:*"]
    )


def test_a_fixture_of_a_conftest_is_meant(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(OTHER_PLUGIN)
    result = run(USED.format(condition="kafka_broker == 'the other one'"))
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*has a fixture kafka_broker too*")


def test_defaults_for_tests(run: Run) -> None:
    run(
        """
        import pytest

        def delay(kafka):
            return kafka._cluster.server.arguments.config.group_initial_rebalance_delay_ms

        def test_of_the_settings(kafka_broker):
            assert delay(kafka_broker) == 0

        @pytest.mark.kafka(defaults="kafka")
        def test_of_the_marker(kafka_broker):
            assert delay(kafka_broker) == 3000
        """,
        ini="kafka_defaults = test",
    ).assert_outcomes(passed=2)
