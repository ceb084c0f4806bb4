"""The command `fakebroker-load`: run a scenario against any Kafka cluster, judge the results, write a report.

Exit status 0: every request was confirmed; 1: some were not; 2: a mistake in the arguments; 3: the run was not
possible; 4: no response was wrong, but the load or the machine was too late to measure the broker.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fakebroker.streams import Output, Status, fill_closed_streams, run_with_output
from fakebroker_load.console import make_console, print_verdict, progress_bar
from fakebroker_load.control import ask_control, check_control, is_url, resume_followers
from fakebroker_load.errors import INTERRUPTED_STATUS, UNABLE, UNABLE_STATUS, USER_ERROR_STATUS, USER_ERRORS
from fakebroker_load.farm.command import simulate
from fakebroker_load.job import journal_of, judge_folder, new_run_id, run_scenario
from fakebroker_load.journal.taps import ControlTap, FileTap, Tap
from fakebroker_load.limits import allow_connections
from fakebroker_load.odds.command import odds
from fakebroker_load.report import write_report
from fakebroker_load.reports.command import compare_runs
from fakebroker_load.reports.junit import JUNIT_FILE, as_junit
from fakebroker_load.reports.markdown import MARKDOWN_FILE, as_markdown
from fakebroker_load.results.folder import (
    MANIFEST_FILE,
    PARQUET,
    REPORT_FILE,
    RUN_FILE,
    ResultsError,
    clear,
    planned_rows,
    read_runs,
)
from fakebroker_load.results.manifest import check
from fakebroker_load.scenario.actions import ScenarioActor
from fakebroker_load.scenario.lasting import lasting
from fakebroker_load.scenario.model import LoadScenarioError
from fakebroker_load.scenario.reading import bundled, load_scenario
from fakebroker_load.scenario.schema import json_schema
from fakebroker_load.scenario.setup import prepared
from fakebroker_load.session import start_spark
from fakebroker_load.spark.cluster import SparkCluster, ready_cluster, settings_of
from fakebroker_load.spark.failures import cause_of
from fakebroker_load.spark.options import Conf, Master, MaxTime, Tasks, Wait, absolute
from fakebroker_load.spark.slots import WAIT_S
from fakebroker_load.spark.staging import Stage
from fakebroker_load.spark.stopping import stoppable
from fakebroker_load.spark.watching import watched
from fakebroker_load.verdict import Verdict
from fakebroker_load.wire.client import find_leaders
from fakebroker_load.worker import run_in_loop

app = typer.Typer(
    name="fakebroker-load",
    help="Drive a Kafka cluster with Spark and prove what every request was answered.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes cut off long option names at 80 columns
)

# The base class of errors for wrong options and arguments. Typer takes it from click or has its own copy.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `run` wrote.", parser=absolute)]
Limit = Annotated[
    int | None,
    typer.Option(min=0, help="An answer that comes later than this is not confirmed; default: the scenario's, or 500."),
]


def main() -> None:
    """Entry point of the console script."""
    fill_closed_streams()
    sys.exit(run_with_output(_status_of, fail, UNABLE_STATUS))


def _status_of(output: Output) -> Status:
    try:
        status: Status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        return status
    except UNABLE as error:
        return fail(str(error), UNABLE_STATUS)
    except USER_ERRORS as error:
        return fail(str(error))
    except UsageError as error:
        return fail(describe(error))
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED_STATUS
    except Exception as error:  # a bug of ours, or Spark died; status 1 would blame the broker
        if error is output.problem:
            raise
        return fail(f"it broke off: {type(error).__name__}: {cause_of(str(error))}", UNABLE_STATUS)


def describe(error: Exception) -> str:
    """Return the message in one line. Errors of click and typer know their option."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return " ".join(str(message).split())


def fail(message: str, status: int = USER_ERROR_STATUS) -> int:
    print(f"fakebroker-load: {message}", file=sys.stderr)
    return status


@app.command()
def run(
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="A YAML file, or a bundled one: see `scenarios`.")
    ],
    bootstrap_server: Annotated[str, typer.Option(metavar="HOST:PORT", help="One or more, with commas.")],
    out: Annotated[Path, typer.Option(help="Where the results go.", metavar="PATH", parser=absolute)],
    seed: Annotated[int, typer.Option(help="Of the drawn timeouts.")] = 1,
    lateness_limit_ms: Limit = None,
    max_time: MaxTime = None,
    master: Master = None,
    tasks: Tasks = None,
    wait_for_slots: Wait = WAIT_S,
    spark_conf: Conf = None,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="fakebroker's HTTP control: sets up what the scenario needs, in own topics.",
            callback=url_of_control,
        ),
    ] = None,
    control_token: Annotated[str | None, typer.Option(help="Of the control, if it has one.")] = None,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What `fakebroker serve --journal` writes here; default: the control's."),
    ] = None,
    read_back: Annotated[
        bool, typer.Option(help="Read the log back, and compare it with what the requests were told.")
    ] = True,
    keep_topics: Annotated[bool, typer.Option("--keep-topics", help="Leave the run's own topics there.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Remove earlier results from --out.")] = False,
    seconds: Annotated[
        float | None, typer.Option(help="For so long requests arrive, in groups that say how many do in a second.")
    ] = None,
) -> int:
    """Send a scenario's requests to a cluster, judge the answers and what is in the log, write a report."""
    cluster = SparkCluster(master, tasks, wait_for_slots, settings_of(spark_conf))
    plan = load_scenario(scenario) if seconds is None else lasting(load_scenario(scenario), seconds)
    bootstrap = parse_bootstrap(bootstrap_server)
    check_out(out, overwrite)
    if plan.has_needs and control is None:
        raise LoadScenarioError(f"The scenario {plan.name!r} sets up topics or followers: give --control URL.")
    allow_connections(plan.connections)
    if journal is not None:
        FileTap(journal)  # find a mistake in the path before the load
    console = make_console()
    run_id = new_run_id()
    stage = Stage(out, run_id, clear, RUN_FILE)
    tap: Tap | None = None
    actor: ScenarioActor | None = None
    with stoppable(max_time, stage.remains), ExitStack() as outer:
        try:
            outer.enter_context(stage.open())
        except OSError as error:
            raise ResultsError(f"--out {out}: {error.strerror}.") from error
        if control is not None:
            check_control(control, control_token)
        # with a control, the topics are created later
        run_in_loop(find_leaders(bootstrap, {} if control else plan.topics))
        spark, slots = outer.enter_context(ready_cluster(cluster, console, stage.folder, plan.records))
        with ExitStack() as stack:
            if control is not None:
                ask = partial(ask_control, control, control_token)
                plan = stack.enter_context(prepared(ask, plan, run_id, keep_topics))
                tap = ControlTap(ask, control)
                actor = ScenarioActor(ask, plan)
            if journal is not None:
                tap = FileTap(journal)
            on_progress = stack.enter_context(progress_bar(console, plan.name, plan.records))
            run_scenario(
                spark,
                plan,
                bootstrap,
                stage.folder,
                seed=seed,
                on_progress=on_progress,
                read_back=read_back,
                thaw=partial(resume_followers, control, plan.replicated, control_token) if control else lambda: None,
                run_id=run_id,
                tap=tap,
                actor=actor,
                slots=slots,
            )
        stage.install()
        return conclude(out, lateness_limit_ms, master)


app.command()(simulate)
app.command()(odds)
app.command("compare")(compare_runs)


@app.command()
def scenarios() -> int:
    """List the bundled scenarios, each with what it shows."""
    width = max(map(len, bundled())) + 2
    for name in bundled():
        print(f"{name:<{width}}{load_scenario(name).about}")
    return 0


@app.command()
def schema() -> int:
    """Print the JSON Schema of scenarios, for editors."""
    print(json.dumps(json_schema(), indent=2))
    return 0


@app.command()
def verify(folder: Folder, lateness_limit_ms: Limit = None, master: Master = None) -> int:
    """Judge the results in a folder again."""
    check(folder)  # before Spark starts, which takes seconds
    console = make_console()
    spark = start_spark(master, rows=planned_rows(folder))
    with watched(console, spark, "judging"):
        _, verdict = judge_folder(spark, folder, lateness_limit_ms)
    write_for_others(folder, verdict)
    print_verdict(console, verdict)
    return verdict.finding.status


@app.command()
def report(folder: Folder, lateness_limit_ms: Limit = None, master: Master = None) -> int:
    """Judge the results in a folder again and write report.html."""
    check(folder)  # before Spark starts, which takes seconds
    return conclude(folder, lateness_limit_ms, master)


def conclude(folder: Path, lateness_limit_ms: int | None, master: str | None) -> int:
    spark = start_spark(master, rows=planned_rows(folder))
    console = make_console()
    with watched(console, spark, "judging"):
        judged, verdict = judge_folder(spark, folder, lateness_limit_ms)
    runs = read_runs(folder)
    with watched(console, spark, "drawing the report"):
        write_report(spark, judged, verdict, runs, folder / REPORT_FILE, journal_of(spark, folder, runs))
    write_for_others(folder, verdict)
    print_verdict(console, verdict)
    console.print(f"Report: {folder / REPORT_FILE}")
    return verdict.finding.status


def write_for_others(folder: Path, verdict: Verdict) -> None:
    """Write the verdict as Markdown for a pull request, and as JUnit XML for CI."""
    (folder / MARKDOWN_FILE).write_text(as_markdown(verdict), encoding="utf-8")
    (folder / JUNIT_FILE).write_text(as_junit(verdict, read_runs(folder)), encoding="utf-8")


def check_out(out: Path, overwrite: bool) -> None:
    """Raise ResultsError if `out` holds earlier results, unless `overwrite` allows removing them."""
    if out.exists() and not out.is_dir():
        raise ResultsError(f"--out {out} is no folder.")
    earlier = [name for name in (RUN_FILE, PARQUET, MANIFEST_FILE) if (out / name).exists()]
    if earlier and not overwrite:
        raise ResultsError(f"--out {out} holds earlier results ({earlier[0]}); --overwrite removes them.")


def url_of_control(text: str | None) -> str | None:
    """Return the URL. Raises BadParameter if it is none."""
    if text is not None and not is_url(text):
        raise typer.BadParameter(f"{text!r} is not a URL, as in http://127.0.0.1:9644.")
    return text


def parse_bootstrap(text: str) -> list[tuple[str, int]]:
    """Read "host:port,host:port"; an IPv6 address needs brackets."""
    places = []
    for part in text.split(","):
        host, colon, port = part.strip().rpartition(":")
        if not colon or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
            raise typer.BadParameter(f"--bootstrap-server {part.strip()!r} is not HOST:PORT, as in localhost:9092.")
        places.append((host.removeprefix("[").removesuffix("]"), int(port)))
    return places
