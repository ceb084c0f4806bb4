"""The command `fakebroker-load odds`: how often records are lost, duplicated, reordered or refused when brokers fail.

Exit status 0: the trials were carried out, whatever their result; 2: a mistake in the arguments; 3: the trials were not
possible.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from fakebroker.testing.odds import ModelError, OddsModel
from fakebroker_load.console import make_console, progress_bar
from fakebroker_load.odds.options import parse_settings, parse_time
from fakebroker_load.odds.table import as_json, print_odds
from fakebroker_load.odds.trials import run_odds
from fakebroker_load.results.folder import ResultsError
from fakebroker_load.spark.cluster import SparkCluster, ready_cluster, settings_of
from fakebroker_load.spark.options import Conf, Master, MaxTime, Tasks, Wait
from fakebroker_load.spark.slots import WAIT_S
from fakebroker_load.spark.stopping import stoppable


def odds(
    acks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="0|1|all",
            help="Of the producer. This and the next four may be given again, and there is a row for each combination.",
            show_default="all",
        ),
    ] = None,
    min_isr: Annotated[
        list[int] | None, typer.Option(metavar="N", help="min.insync.replicas of the topic.", show_default="2")
    ] = None,
    unclean_leader_election: Annotated[
        list[bool] | None,
        typer.Option(
            "--unclean-leader-election", metavar="true|false", help="Whether the topic has it.", show_default="false"
        ),
    ] = None,
    idempotence: Annotated[
        list[bool] | None,
        typer.Option(
            "--idempotence", metavar="true|false", help="Of the producer.", show_default="Kafka's: with acks=all"
        ),
    ] = None,
    retries: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Of the producer.", show_default="Kafka's: until delivery.timeout.ms"),
    ] = None,
    brokers: Annotated[int, typer.Option(metavar="N", help="The topic has as many partitions.")] = 3,
    replication: Annotated[int, typer.Option(metavar="N", help="Replicas of each partition.")] = 3,
    lag: Annotated[str, typer.Option(metavar="TIME", help="Followers have each record so much later.")] = "0ms",
    config: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A setting of all brokers; may be given again.")
    ] = None,
    producer: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="One of the producer; may be given again.")
    ] = None,
    mtbf: Annotated[
        str, typer.Option(metavar="TIME", help="A broker that is up fails after so long, on average (exponential).")
    ] = "1h",
    mttr: Annotated[
        str, typer.Option(metavar="TIME", help="And is started again after so long, on average (exponential).")
    ] = "1m",
    crash: Annotated[
        str,
        typer.Option(
            metavar="process|power|disk",
            help="What a failure takes: the process alone, what was not flushed as well, or all that is on the disk.",
        ),
    ] = "process",
    flush: Annotated[
        str, typer.Option(metavar="TIME", help="How often a machine writes to its disk what it has (--crash power).")
    ] = "30s",
    together: Annotated[
        float, typer.Option(metavar="SHARE", help="Of failures that take all brokers at the same moment, 0 to 1.")
    ] = 0.0,
    lost_answers: Annotated[
        float, typer.Option(metavar="SHARE", help="Of Produce requests that are done, and the connection breaks.")
    ] = 0.0,
    rate: Annotated[float, typer.Option(metavar="R", help="Records a second, by a Poisson process.")] = 0.2,
    duration: Annotated[str, typer.Option(metavar="TIME", help="Of a trial, on the cluster's clock.")] = "2h",
    trials: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many for each row. Of a single one the story is told.")
    ] = 50,
    seed: Annotated[int, typer.Option(help="Of the first trial; the next has the next.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures there.")] = None,
    max_time: MaxTime = None,
    master: Master = None,
    tasks: Tasks = None,
    wait_for_slots: Wait = WAIT_S,
    spark_conf: Conf = None,
) -> int:
    """Tell how often records are lost, doubled, reordered or refused when brokers fail.

    Each trial is a simulated cluster and a producer, and their own code decides what becomes of each record. A TIME is
    a number with its unit: 20ms, 30s, 5m, 6h, 30d.
    """
    idempotences: list[bool | None] = [*idempotence] if idempotence else [None]
    numbers_of_retries: list[int | None] = [*retries] if retries else [None]
    try:
        models = [
            OddsModel(
                acks=each_acks,
                min_isr=each_min_isr,
                unclean_leader_election=is_unclean,
                idempotence=is_idempotent,
                retries=each_retries,
                brokers=brokers,
                replication=replication,
                lag_ms=parse_time("--lag", lag),
                producer=parse_settings("--producer", producer),
                brokers_config=parse_settings("--config", config),
                rate=rate,
                duration_ms=parse_time("--duration", duration),
                mtbf_ms=parse_time("--mtbf", mtbf),
                mttr_ms=parse_time("--mttr", mttr),
                crash=crash,
                flush_ms=parse_time("--flush", flush),
                together=together,
                lost_answers=lost_answers,
            )
            for each_acks in acks or ["all"]
            for each_min_isr in min_isr or [2]
            for is_unclean in unclean_leader_election or [False]
            for is_idempotent in idempotences
            for each_retries in numbers_of_retries
        ]
    except ModelError as error:
        raise typer.BadParameter(str(error)) from None
    if json_file is not None and (json_file.is_dir() or not json_file.parent.is_dir()):
        raise ResultsError(f"--json {json_file} is no file, or lies in no folder.")
    console = make_console()
    cluster = SparkCluster(master, tasks, wait_for_slots, settings_of(spark_conf))
    started = time.monotonic()
    seeds = range(seed, seed + trials)
    with (
        stoppable(max_time),
        ready_cluster(cluster, console, None) as (spark, _),
        progress_bar(console, "odds", trials * len(models), "trials") as on_progress,
    ):
        sums = run_odds(spark, models, seeds, tells=trials == 1, on_progress=on_progress)
    took_s = round(time.monotonic() - started, 1)
    if json_file is not None:
        try:
            json_file.write_text(json.dumps(as_json(sums, took_s), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise ResultsError(f"--json {json_file} cannot be written: {error.strerror}.") from error
    print_odds(console, sums, took_s)
    return 0
