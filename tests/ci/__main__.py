"""Run CI, or the nightly run, or look for flaky tests.

python -m tests.ci run [PART ...]             the parts that the change can break, or these
python -m tests.ci parts                      say which parts that are, and why
python -m tests.ci nightly                    everything that CI leaves out; goes on after a failure
python -m tests.ci flaky [--runs N] [TEST ...] .ci/run, or tests, N times beside four busy loops
python -m tests.ci green                      whether this very commit has passed here
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from . import history
from .flaky import repeat_ci, repeat_test
from .parts import CHECK, COMPILED, INSTALL, PARTS, chosen, make
from .running import ROOT, Done, run_all, say, start

NIGHTLY = (
    make("check"),
    make("test-all"),
    make("languages"),
    make("soak"),
    make("honest", RUNS="50"),
    make("test-compiled", FAKEBROKER_TESTS="nightly"),
    make("guard"),
    make("fuzz", "MINUTES=10"),
    make("properties", "MINUTES=10"),
    *PARTS[INSTALL],
    make("demo", "DEMO_VENV=.venv-demo"),
    make("mutants"),
    make("mutants", "MUTANTS=--random 200 --seed 1"),
    make("witness-mutants"),
    make("wire-mutants"),
    make("conformance-producer"),
    make("conformance", "CONFORMANCE=--if-reachable"),
)


def main(argv: Sequence[str]) -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tests.ci", description=__doc__, formatter_class=raw)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run").add_argument("parts", nargs="*", metavar="PART")
    for name in ("parts", "nightly", "green"):
        commands.add_parser(name)
    flaky = commands.add_parser("flaky")
    flaky.add_argument("--runs", type=int, default=20)
    flaky.add_argument("--seed", type=int, default=1)
    flaky.add_argument("tests", nargs="*", metavar="TEST")
    options = parser.parse_args(argv)
    if unknown := [part for part in getattr(options, "parts", []) if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    match options.command:
        case "run":
            return run_parts(options.parts) if options.parts else run_parts(chosen_parts(), is_whole=True)
        case "parts":
            chosen_parts()
            return 0
        case "nightly":
            return summed_up(run_all(NIGHTLY, goes_on=True))
        case "flaky" if options.tests:
            return repeat_test(options.tests, options.runs, options.seed)
        case "flaky":
            return repeat_ci(options.runs, options.seed)
        case _:
            return tell_green()


def chosen_parts() -> Sequence[str]:
    """Return the parts that the change can break, and say why these."""
    base = history.base(ROOT)
    if base is None:
        say("no ancestor of this commit has passed here: every part")
        return chosen(None)
    paths = history.changed_since(ROOT, base)
    parts = chosen(paths)
    say(f"{len(paths)} files differ from {base[:12]}, which passed here: {', '.join(parts) or 'no part'}")
    return parts


def run_parts(parts: Sequence[str], is_whole: bool = False) -> int:
    """Run the parts, and record the commit if they are the whole of what CI runs on it and have passed.

    mypy takes one core and compiling most of another, so both run at once."""
    began = time.monotonic()
    compiling = start(make("compiled")) if COMPILED in parts else None
    done: list[Done] = []
    for part in parts:
        if part != CHECK and compiling is not None and compiling.wait():
            done.append(Done(make("compiled"), compiling.returncode, time.monotonic() - began))
            break
        done += run_all(PARTS[part], goes_on=False)
        if done[-1].status:
            break
    if compiling is not None:
        compiling.wait()
    status = summed_up(done)
    say(f"{time.monotonic() - began:6.0f} s  all parts: {', '.join(parts) or 'none'}")
    if is_whole and status == 0 and history.record(ROOT):
        say(f"{history.head(ROOT)[:12]} has passed here; {history.GREEN} says so")
    return status


def summed_up(done: Sequence[Done]) -> int:
    for step in done:
        say(str(step))
    return int(any(step.status for step in done))


def tell_green() -> int:
    commit = history.head(ROOT)
    if not history.is_clean(ROOT):
        say("there are uncommitted changes, which nothing has passed with")
        return 1
    if commit not in history.green():
        say(f"{commit[:12]} has not passed .ci/run on this machine")
        return 1
    say(f"{commit[:12]} has passed .ci/run on this machine")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
