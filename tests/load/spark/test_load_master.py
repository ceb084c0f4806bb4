"""The address of a Spark master. A wrong one, or one without a listener, is one sentence before Spark starts."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from load_stub import healthy, stub_broker_thread

from fakebroker_load.cli import main
from fakebroker_load.spark.cluster import settings_of
from fakebroker_load.spark.master import (
    LOOPBACK,
    MasterError,
    MasterUnreachable,
    addresses,
    check_master,
    driver_host,
    is_local,
)


def test_the_addresses_in_the_name_of_a_master() -> None:
    assert addresses("local[4]") == addresses("yarn") == []
    assert addresses("spark://a:7077,b:7078") == [("a", 7077), ("b", 7078)]
    assert addresses("k8s://https://host:6443") == addresses("k8s://host:6443") == [("host", 6443)]
    assert addresses("k8s://host") == [("host", 443)]
    assert addresses("k8s://http://host") == [("host", 80)]
    assert [is_local(name) for name in ("local", "local[*]", "local[2,3]", "local[x]", "local-cluster[2,1,512]")] == [
        True,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "master", ["lokal", "spark://", "spark://host", "spark://host:x", "local[", "http://host:1", ""]
)
def test_what_is_no_master(master: str) -> None:
    with pytest.raises(MasterError, match=r"is no Spark master; there are local\[N\], spark://HOST:PORT"):
        check_master(master)


def test_an_unreachable_master_is_refused() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        check_master(f"spark://127.0.0.1:{port}")
        check_master(f"spark://127.0.0.1:1,127.0.0.1:{port}")  # one of several is enough
    with pytest.raises(
        MasterUnreachable, match=rf"^The Spark master spark://127.0.0.1:{port} does not answer \(.*refused"
    ):
        check_master(f"spark://127.0.0.1:{port}")
    with pytest.raises(MasterUnreachable, match="neither HADOOP_CONF_DIR nor YARN_CONF_DIR"):
        check_master("yarn", {})
    check_master("yarn", {"YARN_CONF_DIR": "/etc"})


def test_executors_reach_the_driver_by_the_address_that_leads_to_the_master() -> None:
    assert driver_host("local[2]") == driver_host("spark://127.0.0.1:7077") == LOOPBACK
    assert driver_host("yarn") is None


def test_settings_of_spark() -> None:
    assert settings_of(["spark.a=1", "spark.b=x=y"]) == {"spark.a": "1", "spark.b": "x=y"}
    with pytest.raises(MasterError, match="'memory=2g' is not KEY=VALUE"):
        settings_of(["memory=2g"])


@pytest.mark.parametrize(
    ("master", "status", "sentence"),
    [
        ("spark://127.0.0.1:1", 3, "The Spark master spark://127.0.0.1:1 does not answer"),
        ("sparkle", 2, "'sparkle' is no Spark master"),
    ],
)
def test_a_command_says_so_at_once_and_old_results_stay(
    master: str,
    status: int,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("fakebroker_load.session.SparkSession.getActiveSession", lambda: None)
    scenario, out = tmp_path / "tiny.yaml", tmp_path / "out"
    scenario.write_text("name: tiny\ngroups: [{name: g, topic: t, acks: -1, expect: NONE}]\n")
    out.mkdir()
    (out / "run.json").write_text("[]")
    monkeypatch.setattr("fakebroker_load.session.SparkSession.builder", None)  # no session is begun
    with stub_broker_thread(healthy) as broker:
        arguments = ["run", str(scenario), f"--bootstrap-server=127.0.0.1:{broker.port}", "--out", str(out)]
        monkeypatch.setattr(sys, "argv", ["fakebroker-load", *arguments, "--overwrite", "--master", master])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == status
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert [path.name for path in out.iterdir()] == ["run.json"]
