from __future__ import annotations

import pytest

from fakebroker_load.reports.facts import brokers_of, command_line


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["/x/bin/fakebroker-load", "run", "my file.yaml"], "fakebroker-load run 'my file.yaml'"),
        (["/x/fakebroker_load/__main__.py", "run", "a"], "fakebroker-load run a"),
        (["fakebroker-load", "--control-token", "s3cr3t", "--seed", "1"], "fakebroker-load --control-token '***' --seed 1"),
        (["fakebroker-load", "--control-token=s3cr3t"], "fakebroker-load '--control-token=***'"),
        (
            ["fakebroker-load", "--spark-conf", "spark.hadoop.fs.s3a.secret.key=s3cr3t=", "--spark-conf=my.Password=s3cr3t"],
            "fakebroker-load --spark-conf 'spark.hadoop.fs.s3a.secret.key=***' '--spark-conf=my.Password=***'",
        ),
        (["fakebroker-load", "--spark-conf", "spark.executor.cores=4"], "fakebroker-load --spark-conf spark.executor.cores=4"),
    ],
)  # fmt: skip
def test_a_command_is_shown_without_its_secrets(arguments: list[str], shown: str) -> None:
    assert command_line(arguments) == shown


def test_who_leads_what() -> None:
    leaders = {("t", 1): ("a", 1), ("t", 0): ("b", 2), ("u", 0): ("a", 1), ("t", 2): ("a", 1)}
    assert brokers_of(leaders) == {"b:2": {"t": [0]}, "a:1": {"t": [1, 2], "u": [0]}}
