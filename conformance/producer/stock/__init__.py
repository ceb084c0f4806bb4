"""The producer of kafka-clients of any release, unmodified, as a process that sends what it is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conformance.targets.kafka_box import fetch_jars

_FOLDER = Path(__file__).parent


def stock_sends(version: str, settings: Mapping[str, str], *options: str) -> list[str]:
    """Return the command that starts Sends.java with that release. Raises Unavailable without Java or Maven."""
    jars = fetch_jars(
        _FOLDER / "pom.xml", f"kafka-clients-{version}", f"kafka-clients {version}", {"kafka.version": version}
    )
    given = [f"{name}={value}" for name, value in settings.items()]
    return ["java", "-cp", f"{jars}/*", str(_FOLDER / "Sends.java"), *options, *given]
