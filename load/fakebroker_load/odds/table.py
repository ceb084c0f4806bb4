"""What a user sees of the odds: a row for each model, what is behind it, how to have a loss again; the same as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fakebroker.testing.odds import OddsModel
from fakebroker_load.odds.options import as_time, command
from fakebroker_load.odds.rates import Rate
from fakebroker_load.odds.trials import SHARES, OddsSum

_MILLION = 1_000_000
_HOUR_MS = 3_600_000
_ALWAYS = ("acks", "min_isr")  # told in each row; others if rows differ in them
_NAMES = {
    "min_isr": "min.isr",
    "unclean_leader_election": "unclean",
    "idempotence": "idempotence",
    "retries": "retries",
}
_SHOWN = ("lost", "duplicated", "reordered", "failed")  # of a million; the time of unavailability in percent


def print_odds(console: Console, found: Sequence[OddsSum], took_s: float) -> None:
    console.print(escape(_premises(found[0])), soft_wrap=True)
    console.print()
    console.print(_table(found))
    console.print(
        "\nlost: of a million records acknowledged; duplicated, reordered, failed (told an error): of a million sent; "
        "unavailable: of the time, per\npartition. In brackets the 95 % interval, by trials; (<n %): in no trial, and "
        "with 95 % certainty in fewer than n % of trials."
    )
    for each in found:
        _print_details(console, each, _label(each, found))
    sent = sum(each.total("sent") for each in found)
    cpu_s = sum(each.total("took_us") for each in found) / 1e6
    console.print(f"\n{sent:,} records in {took_s:,.1f} s; {sent / cpu_s:,.0f} a second of each task's time.")


def _premises(of: OddsSum) -> str:
    """What all rows have in common."""
    model, trials = of.model, len(of.trials)
    takes = {"process": "its process alone", "power": "what was not flushed", "disk": "its disk"}[model.crash]
    parts = [
        f"{model.brokers} brokers, {model.replication} replicas, followers "
        + (f"{as_time(model.lag_ms)} behind" if model.lag_ms else "at once"),
        f"a broker fails after {as_time(model.mtbf_ms)} on average, loses {takes}, and is back after "
        f"{as_time(model.mttr_ms)}"
        + (f"; flushed every {as_time(model.flush_ms)}" if model.crash == "power" else "")
        + (f"; {model.together:.3g} of failures take all brokers" if model.together else "")
        + (f"; {model.lost_answers:.3g} of answers are lost" if model.lost_answers else ""),
        f"{model.rate:g} records a second, {trials:,} trial{'s' if trials > 1 else ''} of {as_time(model.duration_ms)}",
        f"{of.total('crashes'):,} failures of brokers in {trials * model.duration_ms / _HOUR_MS:,.1f} hours",
    ]
    return ".\n".join(part[0].upper() + part[1:] for part in parts) + "."


def _table(found: Sequence[OddsSum]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("settings", no_wrap=True)
    for header in ("records", "leaders lost", *_SHOWN, "unavailable, %"):
        table.add_column(header, justify="right", no_wrap=True)
    for each in found:
        table.add_row(
            escape(_label(each, found)),
            f"{each.total('sent'):,}",
            f"{each.total('leaders_lost'):,}",
            *(_shown(each.rate(name), _MILLION, name == "lost") for name in _SHOWN),
            _shown(each.rate("unavailable"), 100, False),
        )
    return table


def _label(of: OddsSum, found: Sequence[OddsSum]) -> str:
    """What tells a row from the others."""
    names = [
        field.name
        for field in fields(OddsModel)
        if field.name in _ALWAYS
        or any(getattr(each.model, field.name) != getattr(of.model, field.name) for each in found)
    ]
    return " ".join(f"{_NAMES.get(name, name)}={_text(getattr(of.model, name))}" for name in names)


def _text(value: object) -> str:
    return "default" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _shown(rate: Rate | None, scale: int, is_loss: bool) -> str:
    """ "123 [45, 340]", or "0 (<6 %)": in none of the trials, and with 95 % certainty in fewer than 6 % of them."""
    if rate is None:
        return "-"
    if rate.none_bound is not None:
        return f"0 (<{100 * rate.none_bound:.2g} %)"
    value = _number(scale * rate.value)
    if is_loss:
        value = f"[red]{value}[/]"
    if rate.low is None or rate.high is None:
        return value
    return f"{value} \\[{_number(scale * rate.low)}, {_number(scale * rate.high)}]"


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
            console.print(escape(f"{label}: {name}, as in {command(of.model, seed)}"), soft_wrap=True)
            return


def as_json(found: Sequence[OddsSum], took_s: float) -> dict[str, object]:
    """All that was asked and counted. Shares are from 0 to 1, times milliseconds."""
    return {"took_s": took_s, "rows": [_as_json(each) for each in found]}


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
