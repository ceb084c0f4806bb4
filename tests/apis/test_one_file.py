"""An API is one file: a copy of the tree gets one more, and after the commands that write pages no test fails.

The API is ShareGroupDescribe, which nothing else here knows. It has what has stood in lists elsewhere: errors, the part
of a request that a fault selects, an array that is no part, a reason for an error that Kafka was not seen to return.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker.apis import registry

ROOT = Path(__file__).parents[2]
KEY, NAME = 77, "ShareGroupDescribe"
HANDLER = "fakebroker/apis/groups/share_group_describe.py"
TEXT = '''"""ShareGroupDescribe (API key 77), version 1.

Behaviour      No group is a share group: GROUP_ID_NOT_FOUND.
Version notes  v1: the first one.
Not done       Share groups.
Source         core/.../server/KafkaApis.scala handleShareGroupDescribe @ 4.4.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.apis.errors import GROUP, UNANSWERED, because, reads
from fakebroker.core.security.authorized_operations import NOT_REQUESTED
from fakebroker.protocol.build import build
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.messages import response_type

if TYPE_CHECKING:
    from kio.schema.share_group_describe.v1.request import ShareGroupDescribeRequest

KEY = 77


def error_response(ctx: RequestContext, request: ShareGroupDescribeRequest, code: ErrorCode) -> None:
    groups = [
        {
            "error_code": code,
            "error_message": None,
            "group_id": group_id,
            "group_state": "",
            "group_epoch": 0,
            "assignment_epoch": 0,
            "assignor_name": "",
            "members": [],
            "authorized_operations": NOT_REQUESTED,
        }
        for group_id in request.group_ids
    ]
    ctx.respond(build(response_type(KEY, ctx.api_version), {"throttle_time": timedelta(0), "groups": groups}))


@registry.api(
    KEY,
    1,
    1,
    error_response=error_response,
    errors=reads(
        "group",
        f"{GROUP} GROUP_ID_NOT_FOUND INVALID_REQUEST",
        not_parts="members",
        unseen=because(INVALID_REQUEST=UNANSWERED),
    ),
)
def handle(ctx: RequestContext, request: ShareGroupDescribeRequest) -> None:
    error_response(ctx, request, ErrorCode.group_id_not_found)
'''
PAGES = ("docs/apis.md", "docs/errors.md", "docs/faults.md")
# What looks at every API that is served.
TESTS = (
    "tests/apis/test_registry.py",
    "tests/cluster/faults/test_any_request.py",
    "tests/cluster/faults/test_tree.py",
    "tests/commands/test_apis_page.py",
    "tests/conformance/errors",
    "tests/core/faults",
    "tests/test_architecture.py",
)
STALE = {
    "tests/commands/test_apis_page.py::test_the_page_is_fresh",
    "tests/conformance/errors/test_errors_page.py::test_every_row_has_its_origin",
    "tests/conformance/errors/test_errors_page.py::test_the_page_is_as_it_would_be_written",
    "tests/conformance/errors/test_faults_page.py::test_the_table_is_as_it_would_be_written",
}
OF_PAGES = "test_apis_page or test_errors_page or test_faults_page"
FAULT = f"""
from support.faulty import FaultyCluster

kafka = FaultyCluster(partitions=1)
armed = kafka.add({{"api": "{NAME}", "group": "a"}}, "NOT_COORDINATOR", times="every_time")
answer = kafka.connect().ask({KEY}, 1, group_ids=("a", "b"), include_authorized_operations=False)
print({{group.group_id: int(group.error_code) for group in answer.groups}} == {{"a": 16, "b": 69}}, armed.hits)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the tree with one more file."""
    root = tmp_path / "checkout"
    for folder in ("fakebroker", "timingwheel", "load", "conformance", "benchmarks", "tests", "docs"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("*.so", "__pycache__", "build"))
    for path in ROOT.glob("*.*"):
        if path.suffix in (".toml", ".md"):
            shutil.copy(path, root)
    (root / HANDLER).write_text(TEXT)
    return root


def run(root: Path, *arguments: str) -> str:
    """Return the output of Python in the copy. Its tests run in their daily dose, whatever runs here."""
    paths = os.pathsep.join(map(str, (root, root / "tests", root / "load")))
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("FAKEBROKER_", "HYPOTHESIS_"))}
    environment = outer | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


def failures(root: Path, *tests: str) -> set[str]:
    said = run(root, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", *tests)
    assert re.search(r"\d+ passed", said), said
    return set(re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE))


def write_pages(root: Path) -> None:
    (root / "docs/apis.md").write_text(run(root, "-m", "fakebroker", "apis", "--markdown"))
    assert run(root, "-m", "conformance.errors", "--write") == ""


def test_this_api_is_not_served() -> None:
    assert KEY not in registry.load()


@pytest.mark.slow
def test_one_file_and_the_pages_that_commands_write_are_all_of_it(checkout: Path) -> None:
    write_pages(checkout)
    assert failures(checkout, *TESTS, "-k", f"{NAME} or {OF_PAGES}") == set()

    changed = {
        path.relative_to(checkout).as_posix()
        for path in checkout.rglob("*")
        if path.suffix in (".py", ".md", ".toml", ".txt")
        if not (twin := ROOT / path.relative_to(checkout)).exists() or twin.read_bytes() != path.read_bytes()
    }
    assert changed == {HANDLER, *PAGES}
    for page in PAGES:
        assert NAME in (checkout / page).read_text()


@pytest.mark.nightly  # every day: the tests of this API and of the pages, once these are written
@pytest.mark.slow
def test_before_the_pages_are_written_their_tests_fail_and_after_it_none_does(checkout: Path) -> None:
    assert failures(checkout, *TESTS) == STALE
    write_pages(checkout)
    assert failures(checkout, *TESTS) == set()


def test_a_fault_knows_its_errors_and_the_parts_of_its_requests(checkout: Path) -> None:
    assert run(checkout, "-c", FAULT) == "True 1\n"
    refused = run(checkout, "-c", f"from fakebroker import Fault; Fault({{'api': '{NAME}'}}, 'ILLEGAL_GENERATION')")
    assert f"ValueError: {NAME} never returns ILLEGAL_GENERATION" in refused
