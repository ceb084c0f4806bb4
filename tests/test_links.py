"""Links, headings, files and targets of make that pages and docstrings name exist."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("benchmarks", "conformance", "docs", "examples", "fakebroker", "load", "tests", "timingwheel")
OTHER_PAGES = ("load/README.md", "timingwheel/README.md", "tests/golden/README.md", "conformance/clients/README.md")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *(ROOT / page for page in OTHER_PAGES)]
MODULES = sorted(path for folder in ("fakebroker", "load", "timingwheel") for path in (ROOT / folder).rglob("*.py"))
TARGETS = set(re.findall(r"^([a-z-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))


@cache
def files() -> frozenset[str]:
    """Ours, by each way to name one: its path from any folder above it."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")] + list(ROOT.glob("*.*"))
    parts = [path.relative_to(ROOT).parts for path in paths if "build" not in path.parts]
    return frozenset("/".join(names[start:]) for names in parts for start in range(len(names)))


@cache
def headings(page: Path) -> frozenset[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in titles)


def missing(page: Path, text: str) -> list[str]:
    """Return the things that a page names and that do not exist."""
    missing_ = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[\w+\]: (\S+)$", text, re.MULTILINE):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in headings(target)):
            missing_.append(link)
    spans = re.findall(r"`([^`\n]+)`", text)
    for span in spans:
        if re.fullmatch(r"[\w./-]+\.(?:py|md)", span) and span not in files() and not (page.parent / span).exists():
            missing_.append(span)
    missing_ += [span for span in spans if (make := re.match(r"make ([a-z-]+)", span)) and make[1] not in TARGETS]
    return missing_


def named_modules(text: str) -> list[str]:
    """Modules as docstrings and comments name them: `log.py`, `core/log/log.py`."""
    return re.findall(r"(?<![\w./*-])[\w/]+\.py\b", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    assert missing(page, page.read_text()) == []


def test_what_a_module_names_is_there() -> None:
    named = {(module, name) for module in MODULES for name in named_modules(module.read_text())}
    assert [f"{module.relative_to(ROOT)}: {name}" for module, name in sorted(named) if name not in files()] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](decisions.md) [b](decisions.md#16-retention-works-by-batches) [c](../README.md) [d](https://x.y/z)", []),
        ("`core/log/log.py`, `log.py`, `make quick`, `make test WORKERS=0`, `Log.append`", []),
        ("[a](nowhere.md) [b](decisions.md#nowhere)", ["nowhere.md", "decisions.md#nowhere"]),
        ("`core/logs/log.py`, `nobody.py`, `make nothing`", ["core/logs/log.py", "nobody.py", "make nothing"]),
        ("[d1]: nowhere.md#a", ["nowhere.md#a"]),
    ],
)
def test_a_slip_is_found(text: str, expected: list[str]) -> None:
    assert missing(ROOT / "docs" / "page.md", text) == expected


def test_a_slip_in_a_docstring_is_found() -> None:
    assert named_modules("who waits in wakeups.py (core/nowhere.py); core/.../ReplicaManager.scala") == [
        "wakeups.py",
        "core/nowhere.py",
    ]
    assert "core/nowhere.py" not in files()
    assert "wakeups.py" in files()
