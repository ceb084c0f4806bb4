"""`python -m conformance.producer`: run random sequences with Kafka's producer and ours, and compare."""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from conformance.producer.compressed import AskedSizes
from conformance.producer.configurations import commands, ours, settings_of
from conformance.producer.judge import Judge
from conformance.producer.network_sequences import metadata_sequence, network_sequence
from conformance.producer.ours import play
from conformance.producer.play import Difference, difference, normal
from conformance.producer.sequences import RELEASES, compressed_sequence, flight_sequence, sender_sequence, sequence
from conformance.producer.shrink import shrink
from conformance.producer.telling import most_telling
from conformance.producer.transaction_sequences import idempotent_sequence, transactional_sequence
from conformance.targets.kafka_box import Unavailable

Json = dict[str, Any]

GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "producer"
_KEPT_DIFFERENCES = 5

KINDS = {
    "accumulator": sequence,
    "sender": sender_sequence,
    "flight": flight_sequence,
    "idempotent": idempotent_sequence,
    "transactional": transactional_sequence,
    "compressed": compressed_sequence,
    "network": network_sequence,
    "metadata": metadata_sequence,
}

app = typer.Typer(add_completion=False, help=__doc__)


@app.command()
def run(
    sequences: Annotated[int, typer.Option(help="The number of sequences of each kind, for each generation.")] = 1_000,
    first: Annotated[int, typer.Option(help="The first seed.")] = 0,
    kind: Annotated[list[str] | None, typer.Option(help=f"The kinds: {', '.join(KINDS)}; all by default.")] = None,
    generation: Annotated[list[str] | None, typer.Option(help="The generation, 2.0 or 4.3; both by default.")] = None,
    keep: Annotated[int, typer.Option(help="Keep Kafka's results of so many sequences, those that show most.")] = 0,
) -> None:
    """Compare, print the differences, and keep them. If there is one, the exit status is 1."""
    found = 0
    for name in generation or list(RELEASES):
        try:
            found += _run(name, kind or list(KINDS), range(first, first + sequences), keep)
        except Unavailable as error:
            typer.echo(f"not run: {error}")
            raise typer.Exit(2) from None
    raise typer.Exit(1 if found else 0)


def _run(generation: str, kinds: list[str], seeds: range, keep: int) -> int:
    found = played = 0
    started = time.monotonic()
    golden: dict[str, list[Json]] = {kind: [] for kind in kinds}
    with Judge(generation) as judge:
        found += _configure(judge, generation, keep > 0)
        _tell_errors(judge, generation, keep > 0)
        for kind, seed in product(kinds, seeds):
            asked = KINDS[kind](generation, seed)
            told = judge.play(asked)
            played += len(told)
            sizes = AskedSizes(judge)
            mine = _play(asked, told, sizes)
            if keep:
                golden[kind].append(_kept(asked, told, sizes))
            if difference(told, mine) is not None:
                found += 1
                if found <= _KEPT_DIFFERENCES:
                    _show(judge, f"{kind}-{generation}-{seed}", asked)
    seconds = time.monotonic() - started
    typer.echo(
        f"{generation} ({RELEASES[generation]}): {len(kinds) * len(seeds):,} sequences of {played:,} commands, "
        f"{found} differ, {seconds:.0f} s"
    )
    for kind, transcripts in golden.items():
        if transcripts:
            _write(GOLDEN / f"generated-{kind}-{generation}.jsonl", most_telling(transcripts, keep))
    return found


def _configure(judge: Judge, generation: str, keep: bool) -> int:
    asked = {"generation": generation, "config": sequence(generation, 0)["config"], "commands": commands(generation)}
    told = [answer["told"][0] for answer in judge.play(asked)]
    found = 0
    for settings, kafka in zip(settings_of(generation), told, strict=True):
        mine = ours(generation, settings)
        if kafka != mine:
            found += 1
            wrong = {name: (value, mine.get(name)) for name, value in kafka.items() if value != mine.get(name)}
            typer.echo(f"{generation} with {settings}: (Kafka, ours) {wrong or (kafka, mine)}")
    if keep:
        pairs = zip(settings_of(generation), told, strict=True)
        _write(GOLDEN / f"settings-{generation}.jsonl", [{"settings": asked, "told": kafka} for asked, kafka in pairs])
    return found


def _tell_errors(judge: Judge, generation: str, keep: bool) -> None:
    """Write, for the tests, what the release makes of each error code, and which states follow which."""
    if keep:
        asked = {"config": sequence(generation, 0)["config"], "commands": [{"do": "errors"}, {"do": "transitions"}]}
        told, states = (answer["told"] for answer in judge.play(asked))
        lines = [{"state": state, "sources": sources} for state, sources in states]
        _write(GOLDEN / f"states-{generation}.jsonl", lines)
        keys = ("code", "is_retriable", "is_invalid_metadata")
        _write(GOLDEN / f"errors-{generation}.jsonl", [dict(zip(keys, one, strict=True)) for one in told])


def _kept(asked: Json, told: list[Json], sizes: AskedSizes) -> Json:
    compressed = {"compressed": sizes.sizes} if sizes.sizes else {}
    return asked | compressed | {"told": [normal(answer) for answer in told]}


def _play(asked: Json, told: list[Json], sizes: AskedSizes) -> list[Json]:
    """Ours; where it breaks, that is its answer."""
    try:
        return play(asked, sizes)
    except Exception as error:
        broken = {"events": [], "told": [f"broke: {error!r}"], "memory": [], "left": []}
        return [broken] * len(told)


def _show(judge: Judge, name: str, asked: Json) -> None:
    def differs(shorter: Json) -> bool:
        told = judge.play(shorter)
        return difference(told, _play(shorter, told, AskedSizes(judge))) is not None

    short = shrink(asked, differs)
    told = judge.play(short)
    sizes = AskedSizes(judge)
    where = difference(told, _play(short, told, sizes))
    assert isinstance(where, Difference)
    typer.echo(f"{name}, {json.dumps(short['config'])}")
    for command in short["commands"]:
        typer.echo(f"  {json.dumps(command)}")
    typer.echo(f"  command {where.at}, {where.field}:\n    Kafka {where.kafka}\n    ours  {where.ours}")
    kept = GOLDEN / f"found-{name}.jsonl"
    _write(kept, [_kept(short, told, sizes)])
    typer.echo(f"  kept in {kept}")


def _write(path: Path, transcripts: list[Json]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(transcript, separators=(",", ":")) + "\n" for transcript in transcripts))


if __name__ == "__main__":
    app()
