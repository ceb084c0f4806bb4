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
    differing = 0
    for name in generation or list(RELEASES):
        try:
            differing += _run(name, kind or list(KINDS), range(first, first + sequences), keep)
        except Unavailable as error:
            typer.echo(f"not run: {error}")
            raise typer.Exit(2) from None
    raise typer.Exit(1 if differing else 0)


def _run(generation: str, kinds: list[str], seeds: range, keep: int) -> int:
    differing = played = 0
    started = time.monotonic()
    golden: dict[str, list[Json]] = {kind: [] for kind in kinds}
    with Judge(generation) as judge:
        differing += _configure(judge, generation, keep > 0)
        _tell_errors(judge, generation, keep > 0)
        for kind, seed in product(kinds, seeds):
            script = KINDS[kind](generation, seed)
            kafka = judge.play(script)
            played += len(kafka)
            sizes = AskedSizes(judge)
            mine = _play(script, kafka, sizes)
            if keep:
                golden[kind].append(_kept(script, kafka, sizes))
            if difference(kafka, mine) is not None:
                differing += 1
                if differing <= _KEPT_DIFFERENCES:
                    _show(judge, f"{kind}-{generation}-{seed}", script)
    seconds = time.monotonic() - started
    typer.echo(
        f"{generation} ({RELEASES[generation]}): {len(kinds) * len(seeds):,} sequences of {played:,} commands, "
        f"{differing} differ, {seconds:.0f} s"
    )
    for kind, transcripts in golden.items():
        if transcripts:
            _write(GOLDEN / f"generated-{kind}-{generation}.jsonl", most_telling(transcripts, keep))
    return differing


def _configure(judge: Judge, generation: str, keep: bool) -> int:
    script = {"generation": generation, "config": sequence(generation, 0)["config"], "commands": commands(generation)}
    kafka_configs = [answer["told"][0] for answer in judge.play(script)]
    differing = 0
    for settings, kafka in zip(settings_of(generation), kafka_configs, strict=True):
        mine = ours(generation, settings)
        if kafka != mine:
            differing += 1
            wrong = {name: (value, mine.get(name)) for name, value in kafka.items() if value != mine.get(name)}
            typer.echo(f"{generation} with {settings}: (Kafka, ours) {wrong or (kafka, mine)}")
    if keep:
        pairs = zip(settings_of(generation), kafka_configs, strict=True)
        _write(
            GOLDEN / f"settings-{generation}.jsonl",
            [{"settings": settings, "told": kafka} for settings, kafka in pairs],
        )
    return differing


def _tell_errors(judge: Judge, generation: str, keep: bool) -> None:
    """Write, for the tests, what the release makes of each error code, and which states follow which."""
    if keep:
        script = {"config": sequence(generation, 0)["config"], "commands": [{"do": "errors"}, {"do": "transitions"}]}
        errors, states = (answer["told"] for answer in judge.play(script))
        lines = [{"state": state, "sources": sources} for state, sources in states]
        _write(GOLDEN / f"states-{generation}.jsonl", lines)
        keys = ("code", "is_retriable", "is_invalid_metadata")
        _write(GOLDEN / f"errors-{generation}.jsonl", [dict(zip(keys, one, strict=True)) for one in errors])


def _kept(script: Json, kafka: list[Json], sizes: AskedSizes) -> Json:
    compressed = {"compressed": sizes.sizes} if sizes.sizes else {}
    return script | compressed | {"told": [normal(answer) for answer in kafka]}


def _play(script: Json, kafka: list[Json], sizes: AskedSizes) -> list[Json]:
    """Ours; where it breaks, that is its answer."""
    try:
        return play(script, sizes)
    except Exception as error:
        broken = {"events": [], "told": [f"broke: {error!r}"], "memory": [], "left": []}
        return [broken] * len(kafka)


def _show(judge: Judge, name: str, script: Json) -> None:
    def differs(shorter: Json) -> bool:
        kafka = judge.play(shorter)
        return difference(kafka, _play(shorter, kafka, AskedSizes(judge))) is not None

    short = shrink(script, differs)
    kafka = judge.play(short)
    sizes = AskedSizes(judge)
    where = difference(kafka, _play(short, kafka, sizes))
    assert isinstance(where, Difference)
    typer.echo(f"{name}, {json.dumps(short['config'])}")
    for command in short["commands"]:
        typer.echo(f"  {json.dumps(command)}")
    typer.echo(f"  command {where.at}, {where.field}:\n    Kafka {where.kafka}\n    ours  {where.ours}")
    kept = GOLDEN / f"found-{name}.jsonl"
    _write(kept, [_kept(short, kafka, sizes)])
    typer.echo(f"  kept in {kept}")


def _write(path: Path, transcripts: list[Json]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(transcript, separators=(",", ":")) + "\n" for transcript in transcripts))


if __name__ == "__main__":
    app()
