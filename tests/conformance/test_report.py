"""The page says what the results say."""

from __future__ import annotations

import re
from collections import Counter
from itertools import cycle, islice, takewhile
from typing import Any

from support import kept

from conformance.clients.builds import SOURCES
from conformance.generated.deaths.run import DeathsResult
from conformance.generated.search import GeneratedResult
from conformance.generated.walks.search import WalksResult
from conformance.lateness import Lateness
from conformance.report import PAGE, page, results
from conformance.scenario import Case
from conformance.suite import Outcome
from conformance.targets.kafka_box import kafka_version
from conformance.transcripts.compare import Finding
from conformance.transcripts.differences import RULES


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table behind a heading, without its head."""
    lines = PAGE.read_text().partition(heading)[2].splitlines() if heading else PAGE.read_text().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("|--"))
    table = takewhile(lambda line: line.startswith("|"), lines[first + 1 :])
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]


def test_groups_are_counted_and_each_reason_stands_once() -> None:
    many = [Outcome(Case(f"h/{n}", "", ()), [], [], [Finding("p", 1, 2, "ports | differ")]) for n in range(4)]
    outcomes = [
        Outcome(Case("g/same", "this", ()), [], [], []),
        Outcome(Case("g/odd", "that", ()), [], [], [Finding("p", 1, 2, "clocks differ")]),
        Outcome(Case("g/bad", "more", ()), [], [], [Finding("p", 1, 2, "clocks differ"), Finding("q", 1, 2, None)]),
        *many,
    ]
    results_ = results("4.4.0", outcomes)
    assert results_["unexplained"] == 1

    text = page(results_)
    assert "| cases | 7 |" in text
    assert "| equal in every field | 1 |" in text
    assert "| different, with a reason (below) | 5 |" in text
    assert "| differences without a reason | 1 |" in text
    assert "**Different without a known reason:** `g/bad`\n" in text
    assert "equal when run again" not in text
    assert "equal when run again" in page(results_ | {"again": ["g/late"]})
    assert ": `g/late`\n" in page(results_ | {"again": ["g/late"]})
    assert "| g | 3 | 1 | 1 |\n| h | 4 | 0 | 4 |\n" in text
    assert "| ports \\| differ | 4 | `h/*` |\n| clocks differ | 2 | `g/odd`, `g/bad` |\n" in text


def test_the_page_is_about_the_cases_of_today() -> None:
    head, groups = rows(""), rows("## Cases by group")
    counts = Counter(case.group for case in kept.cases())
    assert {group: int(cases) for group, cases, _, _ in groups} == counts
    assert int(dict(head)["cases"]) == counts.total()


def test_the_counts_of_the_page_add_up() -> None:
    head, groups, reasons = dict(rows("")), rows("## Cases by group"), rows("## Why cases differ")
    assert all(int(cases) == int(same) + int(explained) for _, cases, same, explained in groups)
    assert sum(int(same) for _, _, same, _ in groups) == int(head["equal in every field"])
    assert sum(int(explained) for *_, explained in groups) == int(head["different, with a reason (below)"])
    explained_in = {group: int(explained) for group, *_, explained in groups if int(explained)}
    named_in = {reason: set(re.findall(r"`([^/`]+)/", names)) for reason, _, names in reasons}
    assert set().union(*named_in.values()) == explained_in.keys()
    for reason, cases, _ in reasons:
        assert int(cases) <= sum(explained_in[group] for group in named_in[reason]), reason
    for group, explained in explained_in.items():
        assert explained <= sum(int(cases) for reason, cases, _ in reasons if group in named_in[reason]), group


def test_the_head_of_the_page_counts_its_walks_and_streams() -> None:
    text, head = PAGE.read_text(), dict(rows(""))
    assert re.findall(r"^(\d+) streams, ", text, re.MULTILINE) == [head["generated streams"]]
    walks = [int(count) for count in re.findall(r"^- [\w-]+: (\d+) walks, ", text, re.MULTILINE)]
    assert sum(walks) == int(head["random walks, and plans of broker failures"])


def test_cases_that_the_page_names_exist() -> None:
    names = {case.name for case in kept.cases()}
    groups = {case.group for case in kept.cases()}
    for reason, cases, where in rows("## Why cases differ"):
        named = re.findall(r"`([^`]+)`", where)
        assert all(name in names or name.removesuffix("/*") in groups for name in named), reason
        assert len(named) == int(cases) or named[0].endswith("/*"), reason


def test_the_reasons_of_the_page_stand_in_its_order() -> None:
    reasons = [(-int(cases), reason) for reason, cases, _ in rows("## Why cases differ")]
    assert reasons == sorted(reasons)


def test_nothing_is_left_unexplained() -> None:
    text = PAGE.read_text()
    assert "| differences without a reason | 0 |" in text
    assert "without a known reason" not in text


def read_back() -> dict[str, Any]:
    """Return the results that the page has, as the generator takes them. Where the page names only the groups of cases,
    each case has the name of a group."""
    text, head = PAGE.read_text(), dict(rows(""))
    again = re.search(r"^\*\*Different in the whole run[^:]+: (.+)$", text, re.MULTILINE)
    seed, generated = re.findall(r" Seed (\d+):\n(\d+ streams, .+)\.\n", text)[0]
    walked = re.findall(r"^- [\w-]+: \d+ walks, .+\n", text, re.MULTILINE)
    reasons = {}
    for reason, cases, where in rows("## Why cases differ"):
        reasons[reason] = list(islice(cycle(re.findall(r"`([^`]+)`", where)), int(cases)))
    notes = rows("| client | job |")
    clients: list[dict[str, str]] = []
    for name, jobs in rows("## Clients"):
        client, _, version = name.partition(" ")
        own = [(job, outcome, why) for of, job, outcome, why in notes if of == client]
        same = int(jobs.split(" ")[0])
        for job, outcome, why in [*[("job", "same", "")] * same, *own]:
            clients.append({"client": client, "version": version, "job": job, "outcome": outcome, "why": why})
    return {
        "kafka_version": kafka_version(),
        "cases": head["cases"],
        "generated_streams": head["generated streams"],
        "walks": head["random walks, and plans of broker failures"],
        "unexplained": head["differences without a reason"],
        "different": [],
        "again": re.findall(r"`([^`]+)`", again[1]) if again else [],
        "reasons": reasons,
        "groups": {
            group: Counter({"same": int(same), "explained": int(explained)})
            for group, _, same, explained in rows("## Cases by group")
        },
        "lateness": [Lateness(side, timeout, *more) for timeout, side, *more in rows("## How late")],  # type: ignore[arg-type]
        "seed": seed,
        "generated": generated,
        "walks_seed": re.findall(r"^Seed (\d+):$", text, re.MULTILINE)[-1],
        "walked": "".join(walked),
        "clients": clients,
    }


def test_the_page_has_the_text_of_its_generator() -> None:
    """Generate the page from the figures that it has: every other character is the generator's."""
    assert page(read_back()) == PAGE.read_text()


def test_the_summaries_of_the_page_are_those_of_the_runs() -> None:
    figures = read_back()
    summaries = {without_figures(result.summary()) for result in (GeneratedResult(1), WalksResult(1), DeathsResult(1))}
    lines = [figures["generated"], *(line.partition(": ")[2] for line in figures["walked"].splitlines())]
    assert {without_figures(line) for line in lines} == summaries


def without_figures(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def test_the_reasons_of_the_page_are_those_of_the_rules() -> None:
    assert read_back()["reasons"].keys() <= {rule.reason for rule in RULES}


def test_what_a_client_does_not_support_is_said_by_its_program() -> None:
    programs = [path for path in SOURCES.rglob("*") if path.suffix in (".py", ".go", ".mjs", ".java", ".rs")]
    text = "".join(path.read_text() for path in programs)
    for row in read_back()["clients"]:
        assert row["why"] in text, row


def test_clients_stand_with_what_they_did() -> None:
    def row(client: str, job: str, outcome: str, why: str = "") -> dict[str, str]:
        return {"client": client, "version": "1.0", "job": job, "outcome": outcome, "why": why}

    results_ = results("4.4.0", []) | {
        "clients": [
            row("one", "acks-1", "same"),
            row("one", "acks-all", "explained", "because"),
            row("two", "", "not run", "`go` is not installed"),
        ]
    }
    text = page(results_)
    assert "| one 1.0 | 1 same, 1 explained |" in text
    assert "| one | acks-all | explained | because |" in text
    assert "| two 1.0 | `go` is not installed |" in text
