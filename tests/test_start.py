"""What a process imports: `serve` no hypothesis, `import fakebroker` no server."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from support.serving import LIMIT_S

import fakebroker

TELL = "import atexit, json, sys; atexit.register(lambda: print(json.dumps(sorted(sys.modules))))\n"


def modules_after(code: str, *arguments: str) -> set[str]:
    """What a process has imported at its end. One that is ready to serve is told to stop."""
    process = subprocess.Popen([sys.executable, "-c", TELL + code, *arguments], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if line.startswith("fakebroker ready"):
            process.send_signal(signal.SIGTERM)
            line = process.stdout.readline()
        assert process.wait(LIMIT_S) == 0
    return set(json.loads(line))


def test_a_process_that_serves_has_not_imported_hypothesis() -> None:
    pytest.importorskip("hypothesis", reason="it cannot be imported anyway")
    modules = modules_after("from fakebroker.cli import main; main()", "serve", "--port", "0", "--topic", "t")

    assert {"fakebroker.core.cluster", "kio.static.primitive"} <= modules  # so this is the list
    assert not {name for name in modules if name.split(".")[0] == "hypothesis"}


def test_a_program_that_uses_the_library_can_draw_the_types_of_kio() -> None:
    """So it is `serve` alone that keeps hypothesis out: if kio has stopped importing it, nobody need do so."""
    pytest.importorskip("hypothesis", reason="nothing is drawn")

    assert "hypothesis" in modules_after("from fakebroker import FakeCluster")


def test_importing_the_package_imports_none_of_its_parts() -> None:
    modules = modules_after("import fakebroker; fakebroker.COMPILED")

    assert {name for name in modules if name.startswith("fakebroker.")} <= {"fakebroker.core"}


@pytest.mark.parametrize("name", fakebroker.__all__)
def test_everything_is_there(name: str) -> None:
    assert getattr(fakebroker, name) is not None
    assert name in dir(fakebroker)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'fakebroker' has no attribute 'Cluster'"):
        fakebroker.Cluster  # noqa: B018
