from __future__ import annotations

import pytest

from fakebroker_load.reports.facts import brokers_of, command_line


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["run", "my file.yaml"], "run 'my file.yaml'"),
        (["--control-token", "s3cr3t", "--seed", "1"], "--control-token '***' --seed 1"),
        (["--control-token=s3cr3t"], "'--control-token=***'"),
        (
            ["--spark-conf", "spark.hadoop.fs.s3a.secret.key=s3cr3t="],
            "--spark-conf 'spark.hadoop.fs.s3a.secret.key=***'",
        ),
        (["--spark-conf=my.Password=s3cr3t"], "'--spark-conf=my.Password=***'"),
        (["--spark-conf", "spark.executor.cores=4"], "--spark-conf spark.executor.cores=4"),
    ],
)
def test_a_command_is_shown_without_its_secrets(arguments: list[str], shown: str) -> None:
    assert command_line(["/x/bin/fakebroker-load", *arguments]) == f"fakebroker-load {shown}"
    assert command_line(["/x/fakebroker_load/__main__.py", *arguments]) == f"fakebroker-load {shown}"


def test_partitions_are_listed_by_leader() -> None:
    leaders = {("t", 1): ("a", 1), ("t", 0): ("b", 2), ("u", 0): ("a", 1), ("t", 2): ("a", 1)}
    assert brokers_of(leaders) == {"b:2": {"t": [0]}, "a:1": {"t": [1, 2], "u": [0]}}
