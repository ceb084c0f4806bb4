"""`fakebroker replay`: run one simulation again."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fakebroker.commands.command_line import Parser, Slip
from fakebroker.server.made.option_texts import file_name, whole_number

if TYPE_CHECKING:
    from fakebroker.testing.groups.plan import GroupRun
    from fakebroker.testing.plan import Action
    from fakebroker.testing.transactions.plan import TransactionRun

_VIOLATION = 1


def declare(parser: Parser) -> None:
    parser.usage = f"{parser.prog} SEED [OPTIONS]"
    parser.add_argument("seed", metavar="SEED", type=whole_number(), help="Seed of the random steps.")
    parser.add_argument(
        "--steps",
        metavar="N",
        type=whole_number(1, 1_000_000),
        default=200,
        help="Number of random steps, 1 to 1000000 (default: %(default)s).",
    )
    parser.add_argument("--plan", metavar="STEPS", help="Run these steps instead of random ones.")
    parser.add_argument(
        "--journal",
        metavar="FILE",
        type=file_name,
        help="File for the broker's journal, one line of JSON for each event; - for stdout.",
    )
    parser.add_argument(
        "--streams",
        action="store_true",
        help="Simulate streams of thousands of Produce requests, with fewer faults. An oracle checks them.",
    )
    parser.add_argument(
        "--group",
        action="store_true",
        help="Simulate a group with faults instead of producers. A judge checks it.",
    )
    parser.add_argument(
        "--transactions",
        action="store_true",
        help="Simulate transactions with faults. A judge and an oracle of the logs check them.",
    )
    parser.add_argument(
        "--swarm",
        action="store_true",
        help="Leave out half of the faults, chosen by the seed, as in fakebroker-load simulate.",
    )
    parser.add_argument(
        "--shrink", action="store_true", help="If the plan fails, look for a shorter one that also fails."
    )


def run(options: Namespace) -> int:
    chosen = [name for name in ("streams", "group", "transactions") if getattr(options, name)]
    if len(chosen) > 1:
        raise Slip(f"--{chosen[0]} and --{chosen[1]} are two simulations: choose one")
    if options.swarm and options.plan is not None:
        raise Slip("--swarm changes random steps, and --plan has no random steps: choose one")
    if options.group:
        return _run_group(options)
    return _run_transactions(options) if options.transactions else _run_cluster(options)


def _without(options: Namespace) -> frozenset[str]:
    from fakebroker.testing.seeds.swarm import left_out

    kinds = {"streams": options.streams, "groups": options.group, "transactions": options.transactions, "cluster": True}
    kind = next(name for name, is_chosen in kinds.items() if is_chosen)
    return left_out(kind, options.seed) if options.swarm else frozenset()


def _run_group(options: Namespace) -> int:
    from fakebroker.testing.groups.plan import GroupRun, group_plan_fails, group_plan_from_text, random_group_plan

    seed, text = options.seed, options.plan
    try:
        drawn = text is None
        plan = random_group_plan(seed, options.steps, _without(options)) if drawn else group_plan_from_text(text)
        group = GroupRun(plan, seed)
    except ValueError as error:
        raise Slip(str(error)) from None
    return _carry_out(options, "--group", group, group_plan_fails)


def _run_transactions(options: Namespace) -> int:
    from fakebroker.testing.transactions.plan import (
        TransactionRun,
        random_transaction_plan,
        transaction_plan_fails,
        transaction_plan_from_text,
    )

    seed, text = options.seed, options.plan
    try:
        if text is None:
            plan = random_transaction_plan(seed, options.steps, without=_without(options))
        else:
            plan = transaction_plan_from_text(text)
        transactions = TransactionRun(plan, seed)
    except ValueError as error:
        raise Slip(str(error)) from None
    return _carry_out(options, "--transactions", transactions, transaction_plan_fails)


def _carry_out(
    options: Namespace,
    option: str,
    wanted: GroupRun | TransactionRun,
    breaks: Callable[[Sequence[Action], int], bool],
) -> int:
    """Run a plan with faults that has a judge, and print the outcome."""
    from fakebroker.core.journal.journal import to_lines
    from fakebroker.testing import replay as replaying
    from fakebroker.testing.messages import Violation

    broken = ""
    try:
        wanted.run()
    except Violation as violation:
        broken = str(violation)
    except ValueError as error:
        raise Slip(str(error)) from None
    if options.journal is not None:
        _write("--journal", options.journal, "".join(to_lines(wanted.world.journal)))
    if not broken:
        steps = len(wanted.plan)
        print(f"every rule held: {steps} steps, settled {wanted.settled_ms} ms after the faults", file=sys.stderr)
        return 0
    print(f"broken: {broken}", file=sys.stderr)
    if options.shrink:
        shorter = replaying.shrink(wanted.plan, options.seed, breaks)
        print(f"shorter: {replaying.command(options.seed, plan=shorter, option=option)}", file=sys.stderr)
    return _VIOLATION


def _run_cluster(options: Namespace) -> int:
    from fakebroker.core.journal.journal import Journal, to_lines
    from fakebroker.testing import replay as replaying
    from fakebroker.testing.plan import from_text, random_plan, random_stream_plan
    from fakebroker.testing.run import EVERY_STEP, OFTEN, SELDOM

    draw, seldom = (random_stream_plan, SELDOM) if options.streams else (random_plan, OFTEN)
    drawn = options.plan is None
    events = Journal() if options.journal is not None else None
    try:
        actions = draw(options.seed, options.steps, _without(options)) if drawn else from_text(options.plan)
        result = replaying.Replay(actions, options.seed, look_every=seldom if drawn else EVERY_STEP, journal=events)
    except ValueError as error:
        raise Slip(str(error)) from None
    if events is not None:
        _write("--journal", options.journal, "".join(to_lines(events)))
    if result.violation is None:
        print(f"every rule held: {result.run.steps} steps, {result.run.requests} requests", file=sys.stderr)
        return 0
    print(f"broken: {result.violation}", file=sys.stderr)
    if options.shrink:
        shorter = replaying.shrink(result.run.performed, options.seed)
        print(f"shorter: {replaying.command(options.seed, plan=shorter)}", file=sys.stderr)
    return _VIOLATION


def _write(option: str, path: Path, text: str) -> None:
    """Write the text into the file that an option names; - is stdout."""
    if str(path) == "-":
        sys.stdout.write(text)
        return
    try:
        path.write_text(text)
    except OSError as error:
        raise Slip(f"{option} {path}: {error.strerror}") from None
