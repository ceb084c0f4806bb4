"""The output of the odds: the premises, a row for each model, the command that repeats a loss. Also as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fakebroker.testing.odds import OddsModel
from fakebroker_load.odds.options import as_time, command
from fakebroker_load.odds.rates import RateEstimate
from fakebroker_load.odds.trials import SHARES, OddsSum

_MILLION = 1_000_000
_HOUR_MS = 3_600_000
_WIDE_COLUMNS = 120
# Options in which rows may differ, and their names.
_NAMES = {
    "acks": "acks",
    "min_isr": "min.insync.replicas",
    "unclean_leader_election": "unclean",
    "idempotence": "idempotence",
    "retries": "retries",
}
_LOSES = {
    "process": "nothing that it wrote",
    "power": "what it had not flushed ({} since the last time at most)",
    "disk": "all that it wrote",
}
_SHOWN = ("lost", "duplicated", "reordered", "failed")  # per million; unavailability is a percentage of time
_LEGEND = (
    "\nlost: of a million records that were acknowledged; duplicated, reordered, failed (told an error): of a million "
    "sent. unavailable: of the time, for each partition. [from, to]: the 95 % interval, by trials. (<n %): it was in "
    "no trial, and with 95 % certainty is in fewer than n % of trials."
)


def print_odds(console: Console, sums: Sequence[OddsSum], took_s: float) -> None:
    differ = [name for name in _NAMES if len({str(getattr(row.model, name)) for row in sums}) > 1]
    labels = [_settings(row.model, ["acks", *(name for name in differ if name != "acks")]) for row in sums]
    for sentence in _premises(sums[0], [name for name in _NAMES if name not in differ and name != "acks"]):
        console.print(escape(sentence), soft_wrap=True)
    console.print()
    if console.width >= _WIDE_COLUMNS:
        console.print(_table(sums, labels))
    else:
        for row, label in zip(sums, labels, strict=True):
            console.print(f"[bold]{escape(label)}[/]")
            console.print(_block(row))
    console.print(escape(_LEGEND))
    for row, label in zip(sums, labels, strict=True):
        _print_details(console, row, label)
    sent = sum(row.total("sent") for row in sums)
    cpu_s = sum(row.total("took_us") for row in sums) / 1e6
    console.print(f"\n{sent:,} records in {took_s:,.1f} s; {sent / max(cpu_s, 1e-6):,.0f} in a second of CPU.")


def _settings(model: OddsModel, names: Sequence[str]) -> str:
    """Return these options, without those that are left to the producer."""
    given = ((name, getattr(model, name)) for name in names)
    return ", ".join(f"{_NAMES[name]}={str(value).lower()}" for name, value in given if value is not None)


def _premises(of: OddsSum, names: Sequence[str]) -> list[str]:
    """Return the premises that all rows share. `names` are options in which they could differ."""
    model, trials = of.model, len(of.trials)
    behind = f"each record {as_time(model.lag_ms)} later" if model.lag_ms else "each record at once"
    loses = _LOSES[model.crash].format(as_time(model.flush_ms))
    given = ", ".join(f"{name}={value}" for name, value in {**model.brokers_config, **model.producer}.items())
    settings = ", ".join(text for text in (_settings(model, names), given) if text)
    return [
        f"{model.brokers} brokers, {model.replication} replicas; followers have {behind}. {settings}",
        f"A broker fails after {as_time(model.mtbf_ms)} on average, loses {loses}, and is started again after "
        f"{as_time(model.mttr_ms)}.",
        *([f"Of failures {model.together:.3g} take all brokers at once."] if model.together else []),
        *([f"Of answers to Produce requests {model.lost_answers:.3g} are lost."] if model.lost_answers else []),
        f"{trials:,} trial{'s' * (trials > 1)} of {as_time(model.duration_ms)} with {model.rate:g} records a second: "
        f"{of.total('crashes'):,} failures in {trials * model.duration_ms / _HOUR_MS:,.3g} hours.",
    ]


def _table(sums: Sequence[OddsSum], labels: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for header in ("records", "leaders lost", *_SHOWN, "unavailable, %"):
        table.add_column(header, justify="right")
    for row, label in zip(sums, labels, strict=True):
        table.add_row(escape(label), f"{row.total('sent'):,}", f"{row.total('leaders_lost'):,}", *_figures(row))
    return table


def _block(of: OddsSum) -> Table:
    """Return the figures of one model as a block, for a narrow terminal."""
    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    values = (f"{of.total('sent'):,}", f"{of.total('leaders_lost'):,}", *_figures(of))
    for header, value in zip(("records", "leaders lost", *_SHOWN, "unavailable, %"), values, strict=True):
        table.add_row(header, value)
    return table


def _figures(of: OddsSum) -> list[str]:
    return [*(_shown(of.rate(name), _MILLION) for name in _SHOWN), _shown(of.rate("unavailable"), 100)]


def _shown(rate: RateEstimate | None, scale: int) -> str:
    """Return "123 [45, 340]", or "0 (<6 %)": in none of the trials, and with 95 % certainty in fewer than 6 % of
    them."""
    if rate is None:
        return "-"
    if rate.none_bound is not None:
        return f"0 (<{100 * rate.none_bound:.2g} %)"
    value = _number(scale * rate.value)
    if rate.low is not None and rate.high is not None:
        value += f" [{_number(scale * rate.low)}, {_number(scale * rate.high)}]"
    return escape(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _print_details(console: Console, of: OddsSum, label: str) -> None:
    errors = ", ".join(f"{name} {count:,}" for name, count in of.errors().most_common())
    if errors:
        written = f"; {of.total('written'):,} of them are written all the same" if of.total("written") else ""
        console.print(escape(f"{label}: told {errors}{written}"), soft_wrap=True)
    if len(of.trials) == 1:
        for line in of.trials[0].story:
            console.print("  " + escape(line), soft_wrap=True)
        return
    for name in ("lost", "duplicated", "reordered"):
        seed = of.seed_with(name)
        if seed is not None:
            console.print(escape(f"{label}: {name}, as in  {command(of.model, seed)}"), soft_wrap=True)
            return


def as_json(sums: Sequence[OddsSum], took_s: float) -> dict[str, object]:
    """Return all options and counts. Shares are from 0 to 1, times milliseconds."""
    return {"took_s": took_s, "rows": [_as_json(row) for row in sums]}


def _as_json(of: OddsSum) -> dict[str, object]:
    totals = {
        name: of.total(name)
        for name in (
            "sent", "acknowledged", "failed", "lost", "duplicated", "reordered", "written", "crashes", "leaders_lost",
            "partition_ms", "unavailable_ms", "took_us",
        )
    }  # fmt: skip
    shares = {name: None if (rate := of.rate(name)) is None else asdict(rate) for name in SHARES}
    seed = of.seed_with("lost")
    return {
        "model": asdict(of.model),
        "first_seed": of.trials[0].seed,
        "trials": len(of.trials),
        "totals": totals,
        "errors": dict(of.errors()),
        "shares": shares,
        "lost_again": None if seed is None else command(of.model, seed),
    }
