"""Run both sides, and keep Kafka's results for the next time."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from conformance.targets.kafka_box import cache_folder, kafka_version
from conformance.tools.command import KCAT, Chapter, Command
from conformance.tools.jvm import FOLDER, Jvm, tools_version
from conformance.tools.run import Ran, run_chapter
from conformance.tools.secured_sides import SECURED_CONFIG, SecuredKafkaSide, SecuredServeSide
from conformance.tools.sides import KAFKA_CONFIG, KafkaSide, ServeSide
from conformance.tools.table import CHAPTERS

Progress = Callable[[str, Ran | None], None]  # the side, and what is done there; None when it starts


def chosen(pattern: str) -> tuple[list[Chapter], list[str]]:
    """The chapters of that name, and why others of them are left out."""
    named = [chapter for chapter in CHAPTERS if fnmatchcase(chapter.name, pattern)]
    without = [chapter for chapter in named if not _needs(chapter, KCAT) or shutil.which(KCAT)]
    return without, [f"`{chapter.name}`: {KCAT} is not installed" for chapter in named if chapter not in without]


def run_kafka(chapters: Sequence[Chapter], jvm: Jvm, progress: Progress, *, fresh: bool = False) -> list[Ran]:
    """Return Kafka's results, from the cache if it has run the very chapter. Raises Unavailable."""
    progress("Apache Kafka", None)
    results: list[Ran] = []
    with ExitStack() as stack:
        side: KafkaSide | None = None
        secured: SecuredKafkaSide | None = None
        for chapter in chapters:
            kept = _kept(chapter)
            if kept.is_file() and not fresh:
                ran_commands = [Ran(**values) for values in json.loads(kept.read_text())]
                for ran in ran_commands:
                    progress("Apache Kafka", ran)
            else:
                if chapter.is_secured:
                    secured = secured or stack.enter_context(SecuredKafkaSide())
                    servers, given = secured.bootstrap_servers, secured.given(chapter)
                else:
                    side = side or stack.enter_context(KafkaSide())
                    servers, given = side.bootstrap_servers, chapter
                ran_commands = run_chapter(servers, given, jvm, partial(progress, "Apache Kafka"))
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps([asdict(ran) for ran in ran_commands], indent=1))
            results += ran_commands
    return results


def run_ours(chapters: Sequence[Chapter], kafka: Sequence[Ran], jvm: Jvm, progress: Progress) -> list[Ran]:
    """Return the results of `fakebroker serve` for the chapters that Kafka has run."""
    progress("fakebroker", None)
    results: list[Ran] = []
    with ServeSide() as serve, SecuredServeSide() as secured:
        for chapter in chapters:
            before = [ran for ran in kafka if ran.chapter == chapter.name]
            side, given = (secured, secured.given(chapter)) if chapter.is_secured else (serve, chapter)
            results += run_chapter(side.bootstrap_servers, given, jvm, partial(progress, "fakebroker"), before)
    return results


def _needs(chapter: Chapter, tool: str) -> bool:
    return any(isinstance(step, Command) and step.tool == tool for step in chapter.steps)


def _kept(chapter: Chapter) -> Path:
    """The file in the cache with what Kafka did, named after all that it depends on. What is compared may change."""
    steps = [
        (step.line, step.stdin, step.until, step.background) if isinstance(step, Command) else step
        for step in chapter.steps
    ]
    versions = (kafka_version(), tools_version(), KAFKA_CONFIG)
    digest = hashlib.sha256(repr((versions, steps, sorted(chapter.files.items()))).encode())
    digest.update((FOLDER / "Driver.java").read_bytes())
    if chapter.is_secured:
        digest.update(repr(SECURED_CONFIG).encode())
    return cache_folder() / "tools" / f"{chapter.name}-{digest.hexdigest()[:16]}.json"
