"""An API is one file: a copy of the tree gets one more, and after the commands that write pages no test fails.

The API is ShareGroupDescribe, which nothing else here knows. It has facts that have stood in lists elsewhere: errors,
the part of a request that a fault selects, and an array that is no part. It also has a reason for an error that Kafka
was not seen to return.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.copied_tree import CopiedTree

from fakebroker.apis import registry

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
from fakebroker.apis.authorization import in_handler
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
    authorization=in_handler("GROUP DESCRIBE GROUP_AUTHORIZATION_FAILED group"),
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

from fakebroker import Fault

try:
    Fault({{"api": "{NAME}"}}, "ILLEGAL_GENERATION")
except ValueError as error:
    print(error)
"""


@pytest.fixture
def tree(tmp_path: Path) -> CopiedTree:
    """A copy of the tree with one more file."""
    copied = CopiedTree(tmp_path / "checkout")
    (copied.root / HANDLER).write_text(TEXT)
    return copied


def write_pages(tree: CopiedTree) -> None:
    (tree.root / "docs/apis.md").write_text(tree.run("-m", "fakebroker", "apis", "--markdown"))
    assert tree.run("-m", "conformance.errors", "--write") == ""


def test_this_api_is_not_served() -> None:
    assert KEY not in registry.load()


@pytest.mark.nightly  # every day: a fault in the copy knows the API, and the pages are compared without it
@pytest.mark.slow
def test_one_file_and_the_pages_that_commands_write_are_all_of_it(tree: CopiedTree) -> None:
    write_pages(tree)
    assert tree.failures(*TESTS, "-k", f"{NAME} or {OF_PAGES}") == set()
    assert tree.changed() == {HANDLER, *PAGES}
    for page in PAGES:
        assert NAME in (tree.root / page).read_text()


@pytest.mark.nightly  # every day: as above
@pytest.mark.slow
def test_before_the_pages_are_written_their_tests_fail_and_after_it_none_does(tree: CopiedTree) -> None:
    assert tree.failures(*TESTS) == STALE
    write_pages(tree)
    assert tree.failures(*TESTS) == set()


def test_a_fault_knows_its_errors_and_the_parts_of_its_requests(tree: CopiedTree) -> None:
    hit, refused = tree.run("-c", FAULT).splitlines()
    assert hit == "True 1"
    assert refused.startswith(f"{NAME} never returns ILLEGAL_GENERATION")
