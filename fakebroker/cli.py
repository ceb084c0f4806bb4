"""The command `fakebroker`. A command imports what it needs when it is run, so that none waits for what another needs.
What each thing that `serve` does without would add to its start is in docs/decisions.md, 28.
"""

from __future__ import annotations

import gc
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple, NoReturn

import typer

import fakebroker
from fakebroker.plain_options import plain_arguments

app = typer.Typer(
    name="fakebroker",
    help="A stand-in Kafka cluster that tells the truth about acks=all.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its boxes cut long option names off at 80 columns
)

_USAGE_ERROR = 2
_VIOLATION = 1
_INTERRUPTED = 130


# What a wrong option or argument raises; typer has it from click or carries a copy.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def main() -> None:
    """Entry point of the console script. A slip on the command line is one sentence and exit status 2."""
    words = sys.argv[1:] or ["--help"]
    try:
        if words[0] == "serve" and (arguments := plain_arguments(serve, words[1:])) is not None:
            sys.exit(serve(**arguments))
        sys.exit(app(words, standalone_mode=False))
    except typer.Exit as ended:  # typer itself makes a status of it
        sys.exit(ended.exit_code)
    except UsageError as error:
        # "Invalid value for '--brokers': ..."; the bare text does not name the option.
        sentence = error.format_message() if hasattr(error, "format_message") else error
        typer.echo(f"fakebroker: {sentence}", err=True)
        sys.exit(_USAGE_ERROR)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(_INTERRUPTED)


def _fail(message: str) -> NoReturn:
    """One sentence on stderr, exit status 2."""
    typer.echo(f"fakebroker: {message}", err=True)
    raise typer.Exit(_USAGE_ERROR)


def _version(wanted: bool) -> None:
    if wanted:
        from fakebroker.server.loops import NAME as LOOP_NAME

        how = "compiled" if fakebroker.COMPILED else "interpreted"
        typer.echo(f"fakebroker {fakebroker.__version__} (Python {sys.version.split()[0]}, {LOOP_NAME}, {how})")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Tell the version and end.")
    ] = False,
) -> None:
    pass


class TopicSpec(NamedTuple):
    """What `--topic` says; -1 is the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]


def parse_topic(text: str) -> TopicSpec:
    """Read NAME[:PARTITIONS[:REPLICATION]][,config=value...]; raises ValueError with what would be right."""
    form = "NAME[:PARTITIONS[:REPLICATION]][,config=value...]"
    head, *settings = text.split(",")
    match = re.fullmatch(r"(?P<name>[^:]+)(?::(?P<partitions>\d+)(?::(?P<replication>\d+))?)?", head)
    if match is None:
        raise ValueError(f"--topic {text!r} is not {form}, as in kafkatest:2:3,min.insync.replicas=2")
    return TopicSpec(
        match["name"],
        int(match["partitions"] or -1),
        int(match["replication"] or -1),
        parse_settings("--topic", settings),
    )


def parse_settings(option: str, settings: list[str]) -> dict[str, str]:
    """Read `name=value` items; raises ValueError."""
    values = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise ValueError(
                f"{option} has {setting!r} where a setting name=value belongs, as in min.insync.replicas=2"
            )
        values[name.strip()] = value.strip()
    return values


@app.command()
def serve(
    brokers: Annotated[int, typer.Option(help="Number of brokers; their ids are 1 to N.", min=1, max=100)] = 3,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Broker i listens on PORT + i - 1; 0 takes free ports.", min=0, max=65535)
    ] = 9092,
    advertised_host: Annotated[
        str | None, typer.Option(help="What clients are told to connect to.", show_default="the host")
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option(help="NAME[:PARTITIONS[:REPLICATION]][,config=value...]; may be repeated.", show_default=False),
    ] = None,
    auto_create_topics: Annotated[bool, typer.Option(help="Make a topic when a client asks for it.")] = True,
    followers: Annotated[
        str,
        typer.Option(
            help="What followers do: instant, lagging:MS (milliseconds), throttled:BYTES_PER_S, frozen, or external."
        ),
    ] = "instant",
    config: Annotated[
        list[str] | None,
        typer.Option(
            help="A broker setting by Kafka's name, as in replica.lag.time.max.ms=60000; may be repeated.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of topic ids and cluster id.")] = 0,
    clock: Annotated[
        str,
        typer.Option(help="real; or auto, which skips the time that a request waits for while the clients are quiet."),
    ] = "real",
    journal: Annotated[
        Path | None,
        typer.Option(help="Write what happens to a file, a line of JSON for each event.", show_default=False),
    ] = None,
    ready_file: Annotated[
        Path | None,
        typer.Option(help="JSON with the addresses, put there when every broker accepts.", show_default=False),
    ] = None,
) -> None:
    """Run a cluster until SIGINT or SIGTERM."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    if clock == "manual":
        _fail("--clock manual needs somebody who moves it: take FakeCluster(clock='manual') in Python, or --clock auto")
    try:
        specs = [parse_topic(text) for text in topic or []]
        settings = parse_settings("--config", config or [])
    except ValueError as error:
        _fail(str(error))
    settings.setdefault("auto.create.topics.enable", str(auto_create_topics).lower())
    with _lean_imports():
        from fakebroker.serving import serve_until_signal
    problem = serve_until_signal(
        specs,
        ready_file,
        brokers=brokers,
        host=host,
        port=port,
        advertised_host=advertised_host,
        followers=followers,
        config=settings,
        seed=seed,
        clock=clock,
        journal_file=journal,
    )
    if problem is not None:
        _fail(problem)


@contextmanager
def _lean_imports() -> Iterator[None]:
    """For the imports of a process that does nothing but serve; a library leaves these things to whoever imports it.

    Where hypothesis is installed, kio imports it to register how to draw its types, which takes two thirds as long as
    all the rest of the start. Collecting garbage takes a tenth, and modules that are imported leave none.
    """
    keep_out = "hypothesis" not in sys.modules
    if keep_out:
        sys.modules["hypothesis"] = None  # type: ignore[assignment]  # to import it fails, as if it was not installed
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if keep_out:
            del sys.modules["hypothesis"]


@app.command()
def apis() -> None:
    """Show which APIs and versions are served."""
    from rich.console import Console
    from rich.table import Table

    from fakebroker.apis.registry import load

    table = Table(title="APIs served")
    table.add_column("key", justify="right")
    table.add_column("API")
    table.add_column("versions")
    for api in load().values():
        table.add_row(str(api.key), api.name, f"{api.min_version}-{api.max_version}")
    Console().print(table)


@app.command()
def configs(
    kind: Annotated[str | None, typer.Option(help="Only the settings of one kind: broker or topic.")] = None,
    honoured: Annotated[bool, typer.Option("--honoured", help="Only what has an effect here.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the settings: their defaults, which may be altered, and who acts on them."""
    from fakebroker import configs_page

    if kind is not None and kind not in configs_page.KINDS:
        _fail(f"--kind is {' or '.join(configs_page.KINDS)}, not {kind!r}")
    if as_json:
        typer.echo(configs_page.to_json(kind, honoured))
    else:
        configs_page.print_table(kind, honoured)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for report.html and the results.")] = Path("fakebroker-demo"),
    seed: Annotated[int, typer.Option(help="Of the timeouts that are drawn.")] = 1,
) -> None:
    """The main job: acks=all against frozen followers, and a verdict."""
    try:
        from fakebroker.demo import run_demo
    except ImportError as error:
        _fail(f"the demo needs {error.name}, which is not installed: pip install 'fakebroker[load]'")
    raise typer.Exit(run_demo(out, seed=seed))


@app.command()
def replay(
    seed: Annotated[int, typer.Argument(help="Of what is drawn.")],
    steps: Annotated[int, typer.Option(help="How many steps are drawn.", min=1, max=1_000_000)] = 200,
    plan: Annotated[str | None, typer.Option(help="Run these steps instead of drawn ones.", show_default=False)] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="Write what the broker decided, one line of JSON per event; - for stdout.", show_default=False
        ),
    ] = None,
    shrink: Annotated[bool, typer.Option("--shrink", help="Look for a shorter plan that fails as well.")] = False,
) -> None:
    """Run one simulation again; exit status 1 if it breaks a rule."""
    from fakebroker.core.journal.journal import Journal, to_lines
    from fakebroker.testing import replay as replaying
    from fakebroker.testing.plan import from_text, random_plan
    from fakebroker.testing.run import EVERY_STEP, OFTEN

    events = Journal() if journal is not None else None
    try:
        actions = random_plan(seed, steps) if plan is None else from_text(plan)
        result = replaying.Replay(actions, seed, look_every=EVERY_STEP if plan is not None else OFTEN, journal=events)
    except ValueError as error:
        _fail(str(error))
    if journal is not None and events is not None:
        text = "".join(to_lines(events))
        if str(journal) == "-":
            typer.echo(text, nl=False)
        else:
            try:
                journal.write_text(text)
            except OSError as error:
                _fail(f"--journal {journal}: {error.strerror}")
    if result.violation is None:
        typer.echo(f"every rule held: {result.run.steps} steps, {result.run.requests} requests", err=True)
        return
    typer.echo(f"broken: {result.violation}", err=True)
    if shrink:
        shorter = replaying.shrink(result.run.performed, seed)
        typer.echo(f"shorter: {replaying.command(seed, plan=shorter)}", err=True)
    raise typer.Exit(_VIOLATION)
