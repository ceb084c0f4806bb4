"""`fakebroker-load simulate`: many seeds of the simulated cluster, in Spark's tasks.

Exit status 0: every rule held in every seed; 1: a rule was broken; 2: a mistake in the arguments; 3: the run was not
possible.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated
from uuid import uuid4

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fakebroker.testing.seeds import KINDS
from fakebroker_load.console import make_console, progress_bar
from fakebroker_load.farm.seeds import FARM_FILE, SEEDS_PARQUET, FarmSum, run_seeds
from fakebroker_load.results.folder import ResultsError
from fakebroker_load.spark.cluster import SparkCluster, ready_cluster, settings_of
from fakebroker_load.spark.options import Conf, Master, MaxTime, Tasks, Wait, absolute
from fakebroker_load.spark.slots import WAIT_S
from fakebroker_load.spark.staging import Stage
from fakebroker_load.spark.stopping import stoppable


def simulate(
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="How many seeds of each kind.")] = 200,
    steps: Annotated[int, typer.Option(min=1, max=1_000_000, metavar="M", help="Steps that each seed draws.")] = 200,
    first_seed: Annotated[int, typer.Option(metavar="SEED", help="The first one.")] = 0,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"One of {', '.join(KINDS)}; may be given again.", show_default="all"),
    ] = None,
    swarm: Annotated[bool, typer.Option(help="Each seed does without its own half of the faults.")] = True,
    shrink: Annotated[bool, typer.Option(help="If a plan fails, look for a shorter one that also fails.")] = True,
    out: Annotated[
        Path | None,
        typer.Option(help="Keep the rows of all seeds there, and farm.json.", metavar="PATH", parser=absolute),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Remove earlier results from --out.")] = False,
    max_time: MaxTime = None,
    master: Master = None,
    tasks: Tasks = None,
    wait_for_slots: Wait = WAIT_S,
    spark_conf: Conf = None,
) -> int:
    """Simulate clusters with faults beside an oracle. Report broken rules, and the situations that were reached."""
    kinds = list(dict.fromkeys(kind or KINDS))
    for name in kinds:
        if name not in KINDS:
            raise typer.BadParameter(f"--kind {name!r} is no simulation; there are {', '.join(KINDS)}.")
    console = make_console()
    cluster = SparkCluster(master, tasks, wait_for_slots, settings_of(spark_conf))
    with stoppable(max_time), _folder(out, overwrite) as folder, ready_cluster(cluster, console, folder) as (spark, _):
        with progress_bar(console, "simulate", seeds * len(kinds), "seeds") as on_progress:
            total = run_seeds(
                spark,
                folder,
                kinds,
                range(first_seed, first_seed + seeds),
                steps,
                swarm=swarm,
                shrinks=shrink,
                on_progress=on_progress,
            )
        (folder / FARM_FILE).write_text(json.dumps(total.to_json(), indent=1) + "\n")
    print_sum(console, total)
    return 0 if total.ok else 1


@contextmanager
def _folder(out: Path | None, overwrite: bool) -> Iterator[Path]:
    """Yield the folder for the rows: that of `--out`, or a temporary one."""
    if out is None:
        with tempfile.TemporaryDirectory(prefix="fakebroker-farm-") as name:
            yield Path(name)
        return
    if out.exists() and not out.is_dir():
        raise ResultsError(f"--out {out} is no folder.")
    earlier = [name for name in (FARM_FILE, SEEDS_PARQUET) if (out / name).exists()]
    if earlier and not overwrite:
        raise ResultsError(f"--out {out} holds earlier results ({earlier[0]}); --overwrite removes them.")
    stage = Stage(out, uuid4().hex[:12], _clear, FARM_FILE)
    with ExitStack() as stack:
        try:
            stack.enter_context(stage.open())
        except OSError as error:
            raise ResultsError(f"--out {out}: {error.strerror}.") from error
        yield stage.folder
        stage.install()


def _clear(out: Path) -> None:
    (out / FARM_FILE).unlink(missing_ok=True)
    shutil.rmtree(out / SEEDS_PARQUET, ignore_errors=True)


def print_sum(console: Console, total: FarmSum) -> None:
    console.print(_kinds_table(total))
    console.print()
    console.print(_situations_table(total))
    for broken_seed in total.broken:
        console.print(f"\n[red]{escape(broken_seed.kind)}, seed {broken_seed.seed}: {escape(broken_seed.violation)}[/]")
        console.print(f"  again:   {escape(broken_seed.again)}", soft_wrap=True)
        if broken_seed.shorter:
            console.print(f"  shorter: {escape(broken_seed.shorter)}", soft_wrap=True)
    if total.broken_seeds > len(total.broken):
        console.print(f"\n[red]and {total.broken_seeds - len(total.broken):,} seeds more[/]")
    if total.seeds != total.planned:
        console.print(f"[red]{total.seeds:,} results for {total.planned:,} seeds[/]")
    never = sum(not situation.times for situation in total.situations)
    colour, word = ("green", "Every rule held") if total.ok else ("red", "Not every rule held")
    rate = total.produced / total.took_s if total.took_s else 0
    console.print(
        f"\n[bold {colour}]{word}[/]: {total.seeds:,} seeds of {total.steps:,} steps, {total.produced:,} produce "
        f"requests in {total.took_s:,.1f} s ({rate:,.0f} a second); {never} of {len(total.situations)} situations "
        "never reached."
    )


def _kinds_table(total: FarmSum) -> Table:
    table = _table("kind", "seeds", "steps", "requests", "of these Produce", "simulated hours", "CPU s", "broken")
    for kind_sum in total.kinds:
        table.add_row(
            kind_sum.kind,
            f"{kind_sum.seeds:,}",
            f"{kind_sum.steps:,}",
            f"{kind_sum.requests:,}",
            f"{kind_sum.produced:,}",
            f"{kind_sum.virtual_ms / 3_600_000:,.1f}",
            f"{kind_sum.took_us / 1e6:,.1f}",
            f"[{'red' if kind_sum.broken else 'green'}]{kind_sum.broken:,}[/]",
        )
    return table


def _situations_table(total: FarmSum) -> Table:
    table = _table("situation", "in seeds", "times")
    kind = ""
    for situation in total.situations:
        if situation.kind != kind:
            kind = situation.kind
            table.add_row(f"[bold]{kind}[/]")
        counts = (f"{situation.seeds:,}", f"{situation.times:,}") if situation.times else ("[red]never[/]", "")
        table.add_row(f"  {situation.situation}", *counts)
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
