"""What each group of compiled modules gains: instructions with all compiled, and with that group left interpreted.

    python -m benchmarks modules [GROUP...] [--quick] [--json]

Seconds are noise where gains are small, so what is counted is the guard's work (`guard.py`). Each group is a copy of
this tree whose setup.py has lost the group's modules, built by pip as `make bench` builds it: a minute and a half each,
twenty minutes for all, so this runs only when it is asked for by name. A group is what is used together, so that few
calls cross from compiled to interpreted code and back; a compiled class cannot extend one that is not, hence
`timingwheel/task.py` is in none. A ratio of 1.1 says that without the group compiled the work takes a tenth more: what
gains little anywhere should be left interpreted. The second row of a group is the work that it changes most.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.instructions.callgrind import CALIBRATION, Counts, count
from benchmarks.machine.programs import HERE, Missing
from benchmarks.reporting.report import Report, end, progress
from benchmarks.reporting.rows import Row, compare
from fakebroker import __version__

ROOT = HERE.parent
PARTS = ("fakebroker", "timingwheel", "load", "setup.py", "build_backend.py", "pyproject.toml", "README.md", "LICENSE")
MAIN_WORK = "produce 100 B, acks=-1"
ALL, REST = "all of them", "the rest"
QUICK = 2  # groups
BUILD_LIMIT_S = 900

GROUPS: dict[str, tuple[str, ...]] = {
    "frames and headers": (
        "fakebroker/protocol/framing.py",
        "fakebroker/protocol/headers.py",
        "fakebroker/protocol/large_frame.py",
    ),
    "reading of Produce": ("fakebroker/protocol/produce_reader.py", "fakebroker/protocol/topic_partition.py"),
    "records and the plain batch": (
        "fakebroker/core/log/plain_append.py",
        "fakebroker/protocol/plain_batch.py",
        "fakebroker/protocol/record_walk.py",
        "fakebroker/protocol/varint.py",
    ),
    "general validation": (
        "fakebroker/core/log/log_validator.py",
        "fakebroker/core/log/batch_validation.py",
        "fakebroker/protocol/produce_request.py",
        "fakebroker/protocol/record_batch.py",
    ),
    "the Produce API and its answer": ("fakebroker/apis/produce/produce.py", "fakebroker/protocol/produce_response.py"),
    "log and append": (
        "fakebroker/core/log/leader_epochs.py",
        "fakebroker/core/log/log.py",
        "fakebroker/core/log/append.py",
        "fakebroker/core/log/retention.py",
    ),
    "producer state": ("fakebroker/core/log/producer_state.py",),
    "partition, replica, their manager": (
        "fakebroker/core/replication/partition.py",
        "fakebroker/core/replication/replica.py",
        "fakebroker/core/replication/replica_manager.py",
    ),
    "purgatory and delayed operations": (
        "fakebroker/core/replication/delayed_fetch.py",
        "fakebroker/core/purgatory/delayed_operation.py",
        "fakebroker/core/replication/delayed_produce.py",
        "fakebroker/core/purgatory/purgatory.py",
    ),
    "followers": ("fakebroker/core/replication/follower.py", "fakebroker/core/replication/followers.py"),
    "sockets, dispatcher, cluster": (
        "fakebroker/apis/context.py",
        "fakebroker/apis/registry.py",
        "fakebroker/core/clock.py",
        "fakebroker/cluster/cluster.py",
        "fakebroker/network/connection.py",
        "fakebroker/cluster/dispatcher.py",
        "fakebroker/network/idle_expiry.py",
        "fakebroker/network/socket_server.py",
        "fakebroker/server/system_clock.py",
    ),
    "controller and topics": (
        "fakebroker/core/broker_registry.py",
        "fakebroker/core/controller/controller.py",
        "fakebroker/core/broker/broker.py",
        "fakebroker/core/controller/topics.py",
    ),
    "timing wheel": (
        "timingwheel/delay_queue.py",
        "timingwheel/due_queue.py",
        "timingwheel/task_list.py",
        "timingwheel/timer.py",
        "timingwheel/wheel.py",
    ),
}
# In no group: classes that others extend, and what the guard's work has nothing of. What the simulation gains is
# a matter of `simulation`, what groups of consumers gain one of `groups`, what transactions gain one of `transactions`.
ELSEWHERE = (
    "fakebroker/producer/",
    "fakebroker/testing/",
    "fakebroker/apis/groups/",
    "fakebroker/apis/later.py",
    "fakebroker/apis/produce/verification.py",
    "fakebroker/apis/transactions/",
    "fakebroker/core/coordinator/",
    "fakebroker/core/groups/",
    "fakebroker/core/transactions/",
    "fakebroker/protocol/answers/frame.py",
    "fakebroker/protocol/answers/group_answers.py",
    "fakebroker/protocol/answers/transaction_answers.py",
    "fakebroker/protocol/group_records/",
    "fakebroker/protocol/groups/",
    "fakebroker/protocol/java_hash.py",
    "fakebroker/protocol/transaction_records/",
    "fakebroker/protocol/transactions/",
)
ALWAYS = ("timingwheel/task.py",)


def compiled_modules(setup: str) -> list[str]:
    """The list in the text of setup.py."""
    for statement in ast.parse(setup).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "COMPILED":
            found: list[str] = ast.literal_eval(statement.value)
            return found
    raise ValueError("setup.py has no list COMPILED")


def without(setup: str, modules: Sequence[str]) -> str:
    """The text of setup.py with these taken out of its list. Raises ValueError for one that is not in it."""
    for module in modules:
        line = f'    "{module}",\n'
        if line not in setup:
            raise ValueError(f"setup.py does not compile {module}")
        setup = setup.replace(line, "")
    return setup


def groups(compiled: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The groups of what is compiled, with those that were left out by mistake in one of their own."""
    known = {module for modules in GROUPS.values() for module in modules} | set(ALWAYS)
    found = {name: tuple(module for module in modules if module in compiled) for name, modules in GROUPS.items()}
    found[REST] = tuple(m for m in compiled if m not in known and not m.startswith(ELSEWHERE))
    return {name: modules for name, modules in found.items() if modules}


def build(folder: Path, interpreted: Sequence[str], limit_s: float = BUILD_LIMIT_S, isolated: bool = True) -> Path:
    """A compiled copy in the folder but for these modules. It always lies at the same place, since the length of a path
    changes the counts a little. `isolated` is pip's way, which fetches mypyc; else the one that is installed here
    compiles. Raises Missing."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        raise Missing("no C compiler")
    source, target = folder / "source", folder / "build"
    for old in (source, target):
        shutil.rmtree(old, ignore_errors=True)
    source.mkdir()
    for name in PARTS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
        else:
            shutil.copy(ROOT / name, source / name)
    setup = source / "setup.py"
    setup.write_text(without(setup.read_text(), interpreted))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    if not isolated:
        pip.append("--no-build-isolation")
    try:
        done = subprocess.run(
            [*pip, "--target", str(target), "."],
            cwd=source,
            env={**os.environ, "FAKEBROKER_COMPILE": "1", "PYTHONPATH": ""},
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"the build took more than {limit_s:.0f} s") from None
    if done.returncode:
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if "error:" in line]
        raise Missing(f"cannot be built: {said[0] if said else f'pip ended with status {done.returncode}'}")
    return target


def rows(name: str, modules: int, all_compiled: Counts, interpreted: Mapping[str, int], reason: str) -> Iterator[Row]:
    """Of one group: the main work, and the one that it changes most if that is another."""

    def row(work: str) -> Row:
        theirs = [interpreted[work]] if interpreted else []
        what = f"{name} ({modules}): {work}"
        return compare(what, "interpreted", "instructions", [all_compiled[work]], theirs, note=reason)

    yield row(MAIN_WORK)
    if interpreted:
        changed = {work: interpreted[work] / all_compiled[work] for work in all_compiled if work != CALIBRATION}
        most = max(changed, key=lambda work: changed[work])
        if most != MAIN_WORK:
            yield row(most)


def measure(report: Report, chosen: Mapping[str, Sequence[str]], everything: bool, as_json: bool) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="benchmarks-modules-") as temporary,
        progress("modules", len(chosen) + 1 + everything) as step,
    ):
        step("all compiled")
        folder = Path(temporary)
        try:
            all_compiled = count(build(folder, []))
        except Missing as reason:
            report.add(compare(MAIN_WORK, "interpreted", "instructions", [], [], note=f"missing: {reason}"))
            return end(report, as_json)
        if everything:
            step(ALL)
            shutil.rmtree(folder / "build")
            for package in ("fakebroker", "timingwheel"):
                shutil.copytree(folder / "source" / package, folder / "build" / package)
            listed = len(compiled_modules((ROOT / "setup.py").read_text()))
            for row in rows(ALL, listed, all_compiled, count(folder / "build"), ""):
                report.add(row)
        for name, modules in chosen.items():
            step(name)
            found, note = Counts(), ""
            try:
                found = count(build(folder, modules))
            except Missing as reason:
                note = str(reason)
            for row in rows(name, len(modules), all_compiled, found, note):
                report.add(row)
    return end(report, as_json)


def main(argv: list[str]) -> int:
    known = groups(compiled_modules((ROOT / "setup.py").read_text()))
    parser = argparse.ArgumentParser(prog="benchmarks modules", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"some of: {'; '.join(known)}")
    parser.add_argument("--quick", action="store_true", help=f"the first {QUICK} groups")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.groups if name not in known]:
        print(f"no group {unknown[0]!r}; there are: {'; '.join(known)}", file=sys.stderr)
        return 2
    names = options.groups or list(known)[: QUICK if options.quick else None]
    everything = not options.groups and not options.quick
    report = Report("modules", versions={"fakebroker": f"{__version__} (compiled)"})  # however this process runs
    return measure(report, {name: known[name] for name in names}, everything, options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
