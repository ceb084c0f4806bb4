"""The command `python -m fakebroker.apis.new`: its files are valid, fail loudly until they are completed, and are not
left behind."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from kio.schema.index import api_key_map
from support.requests import PRODUCE
from support.simulation import Simulation

from fakebroker.apis import registry
from fakebroker.apis.new import main, stubs
from fakebroker.network.effects import InternalError, Send
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import api_name, decode_response, response_type, versions

ROOT = Path(__file__).parents[2]
DESCRIBE_CLUSTER, FIND_COORDINATOR, NOT_OF_BROKERS = 60, 10, 52  # the last is Vote, for controllers alone
ROOMS = ("cluster", "reading")


@pytest.fixture
def nothing_else_served() -> Iterator[None]:
    """Serve Produce only, so that the registry has no other API besides the new one."""
    served = dict(registry.load())
    registry._apis.clear()
    registry._apis[PRODUCE] = served[PRODUCE]
    yield
    registry._apis.clear()
    registry._apis.update(served)


@pytest.fixture
def checkout(tmp_path: Path, nothing_else_served: None) -> Path:
    """Make the folders of a checkout, without their files."""
    for package in ("fakebroker/apis", "tests/apis", "conformance/cases"):
        for room in ROOMS:
            (tmp_path / package / room).mkdir(parents=True)
    for folder in ("fakebroker", "conformance"):
        for path in ((tmp_path / folder), *(tmp_path / folder).rglob("*/")):
            (path / "__init__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def written(checkout: Path) -> set[str]:
    return {path.relative_to(checkout).as_posix() for path in checkout.rglob("*.py") if path.name != "__init__.py"}


def imported(path: Path) -> ModuleType:
    """Import a module by its file, under a unique name."""
    spec = importlib.util.spec_from_file_location(f"stub_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What is written.


@pytest.mark.parametrize("api", ["60", "DescribeCluster", "describe_cluster", "describe-cluster", "describecluster"])
def test_three_files_are_written_and_what_comes_next_is_told(
    checkout: Path, capsys: pytest.CaptureFixture[str], api: str
) -> None:
    assert main([api, "--room", "reading"], checkout) == 0

    files = {
        "fakebroker/apis/reading/describe_cluster.py",
        "tests/apis/reading/test_describe_cluster.py",
        "conformance/cases/reading/describe_cluster.py",
    }
    output = capsys.readouterr().out
    assert written(checkout) == files
    assert all(f"wrote {path}\n" in output for path in files)
    assert "-m pytest tests/apis/reading/test_describe_cluster.py " in output
    assert "-m conformance cases 'describe-cluster/*' " in output


@pytest.mark.parametrize(("limits", "served"), [([], (0, 2)), (["--min", "1"], (1, 2)), (["--max", "0"], (0, 0))])
def test_versions_are_those_that_kio_reads_or_fewer(checkout: Path, limits: list[str], served: tuple[int, int]) -> None:
    assert main(["DescribeCluster", *limits], checkout) == 0
    imported(checkout / "fakebroker/apis/cluster/describe_cluster.py")
    cases = imported(checkout / "conformance/cases/cluster/describe_cluster.py")

    api = registry.load()[DESCRIBE_CLUSTER]
    assert (api.min_version, api.max_version) == served
    assert [case.name for case in cases.CASES] == [
        f"describe-cluster/v{version}" for version in range(served[0], served[1] + 1)
    ]


def test_the_stubs_of_every_api_are_as_ruff_wants_them(checkout: Path) -> None:
    for key in api_key_map:
        for path, text in stubs(key, versions(key)[0], versions(key)[-1]).items():
            (checkout / path).write_text(text)
    pytest.importorskip("ruff")
    ruff = [sys.executable, "-m", "ruff"]
    for command in ([*ruff, "check", "--no-cache", "."], [*ruff, "format", "--no-cache", "--check", "."]):
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]


def test_a_stub_gives_the_error_to_the_response_if_a_version_has_a_field_for_it() -> None:
    kinds = set()
    for key in api_key_map:
        handler = next(iter(stubs(key, versions(key)[0], versions(key)[-1]).values()))
        has_field = [
            any(field.name == "error_code" for field in dataclasses.fields(response_type(key, version)))
            for version in versions(key)
        ]
        assert ("_respond(ctx, error_code=code)" in handler) == any(has_field), api_name(key)
        assert ("have no error of their own" in handler) != all(has_field), api_name(key)
        kinds.add((any(has_field), all(has_field)))
    assert kinds == {(False, False), (True, False), (True, True)}


@pytest.mark.parametrize("key", [*api_key_map], ids=api_name)
def test_a_stub_is_served_and_says_loudly_that_it_is_not_written(checkout: Path, key: int) -> None:
    """Every request of its own case gets a response in its own version: an error, and an internal error in the log."""
    registry._apis.clear()
    name = api_key_map[key]
    assert main([str(key)], checkout) == 0
    imported(checkout / f"fakebroker/apis/cluster/{name}.py")
    cases = imported(checkout / f"conformance/cases/cluster/{name}.py").CASES
    simulation = Simulation()
    client = simulation.connect()

    assert len(cases) == len(versions(key))
    for version, case in zip(versions(key), cases, strict=True):
        simulation.cluster.receive(client.connection, case.steps[0].frames[0], simulation.now)
        send, bug = simulation.cluster.take_effects()
        assert isinstance(bug, InternalError)
        assert str(bug.error) == f"write me: {api_name(key)} is not served yet"
        assert isinstance(send, Send)
        correlation_id, answer = decode_response(key, version, bytes(send.data[4:]))
        assert correlation_id == 1
        assert getattr(answer, "error_code", ErrorCode.unknown_server_error) == ErrorCode.unknown_server_error


def test_versions_without_an_error_of_their_own_are_named() -> None:
    """FindCoordinator has several keys from v4 on."""
    handler, _, _ = stubs(FIND_COORDINATOR, 0, 6).values()
    assert "# write me: v4-v6 have no error of their own." in handler
    handler, _, _ = stubs(FIND_COORDINATOR, 0, 3).values()
    assert "no error of their own" not in handler


def test_what_is_new_in_a_version_is_noted() -> None:
    handler, _, _ = stubs(FIND_COORDINATOR, 2, 4).values()
    notes = " ".join(handler.partition("Version notes")[2].partition("Not done")[0].split())
    assert notes == (
        "v3 flexible; v4 request coordinator_keys, request without key, response coordinators, response without"
        " error_code, response without error_message, response without node_id, response without host, response"
        " without port; write me: what each means (with its KIP)."
    )


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["93000"], "There is no API with the key 93000: they go from 0 to "),
        (["DescribeClutser"], "There is no API called 'DescribeClutser': did you mean DescribeCluster"),
        (["xyzzy"], "There is no API called 'xyzzy'."),
        (["-1"], "There is no API called '-1'."),
        (["Produce"], "Produce is served already, v3 to v13, by fakebroker/apis/produce/produce.py."),
        (["60", "--max", "99"], "DescribeCluster cannot be served as v0 to v99: kio reads v0 to v2."),
        (["60", "--min", "-1"], "DescribeCluster cannot be served as v-1 to v2: kio reads v0 to v2."),
        (["60", "--min", "2", "--max", "1"], "DescribeCluster cannot be served as v2 to v1: kio reads v0 to v2."),
        (["60", "--min", "x"], "argument --min: invalid int value: 'x'."),
        (["60", "--room", "attic"], "There is no folder 'attic' in fakebroker/apis: there are cluster, reading."),
        ([], "the following arguments are required: KEY_OR_NAME."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_slip_is_one_sentence(
    checkout: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    assert main(arguments, checkout) == 2
    assert_refused(capsys, reason)
    assert written(checkout) == set()


def assert_refused(capsys: pytest.CaptureFixture[str], reason: str) -> None:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"fakebroker.apis.new: {reason}")


@pytest.mark.parametrize("path", stubs(DESCRIBE_CLUSTER, 0, 0))
def test_nothing_is_written_over(checkout: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    (checkout / path).write_text("mine")

    assert main(["DescribeCluster"], checkout) == 2
    assert_refused(capsys, f"{path} is there already.")
    assert written(checkout) == {path}
    assert (checkout / path).read_text() == "mine"


def test_an_installed_package_is_no_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], nothing_else_served: None
) -> None:
    assert main(["DescribeCluster"], tmp_path) == 2
    assert_refused(capsys, f"{tmp_path} is not a checkout of fakebroker, so it has no folders for a test and a case.")
    assert list(tmp_path.iterdir()) == []


# In a copy of this checkout, as a contributor does it.


@pytest.mark.nightly  # every day: the text of each of the three files
@pytest.mark.slow
def test_in_a_checkout_all_three_are_found_and_the_test_fails_until_it_is_written(tmp_path: Path) -> None:
    for folder in ("fakebroker", "timingwheel", "conformance"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.so"))
    shutil.copytree(ROOT / "tests/support", tmp_path / "tests/support")
    (tmp_path / "tests/apis").mkdir()
    for name in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    handler, test, case = (tmp_path / path for path in stubs(NOT_OF_BROKERS, 0, 2))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    made = run("fakebroker.apis.new", "Vote")
    assert made.returncode == 0, made.stderr
    assert case.exists()

    listed = run("conformance", "list", "vote/*")
    assert [line.split() for line in listed.stdout.splitlines()] == [[f"vote/v{n}", "write", "me"] for n in range(3)]

    pytest_ = ("pytest", "-q", "-p", "no:cacheprovider", str(test))
    tested = run(*pytest_)
    assert tested.returncode == 1
    assert "3 failed" in tested.stdout
    assert "NotImplementedError: write me: Vote is not served yet" in tested.stdout

    stub = handler.read_text()
    assert stub.count("    raise NotImplementedError") == 1
    handler.write_text(stub.replace("    raise NotImplementedError", "    _respond(ctx)  #"))
    tested = run(*pytest_)
    assert tested.returncode == 1
    assert "3 failed" in tested.stdout
    assert "Failed: write me: is this what Kafka answers? VoteResponse(" in tested.stdout


# Nothing is left half written.


def test_no_stub_is_left_to_be_filled_in() -> None:
    here = {ROOT / "fakebroker/apis/new.py", Path(__file__).resolve()}
    for folder in ("fakebroker/apis", "tests/apis", "conformance/cases"):
        for path in {*(ROOT / folder).rglob("*.py")} - here:
            assert "write me" not in path.read_text(), f"{path.relative_to(ROOT)} is not finished"


def test_a_stub_would_be_found() -> None:
    assert all("write me" in text for text in stubs(DESCRIBE_CLUSTER, 0, 2).values())
