"""AlterReplicaLogDirs: to directories that are not there. Those that are have other names in each cluster."""

from __future__ import annotations

from conformance.frames import request
from conformance.scenario import Case, Send, Settle, Topic

_KEY = 34


def _asked(*dirs: tuple[str, list[tuple[str, list[int]]]], version: int = 2, correlation_id: int = 1) -> bytes:
    values = {
        "dirs": [
            {"path": path, "topics": [{"name": name, "partitions": indexes} for name, indexes in topics]}
            for path, topics in dirs
        ]
    }
    return request(_KEY, version, values, correlation_id)


CASES: list[Case] = [
    *(
        Case(
            f"alter-replica-log-dirs/v{version}",
            "an unknown directory: LOG_DIR_NOT_FOUND, before most other checks",
            (
                Send(
                    (
                        _asked(("/nowhere", [(f"alter-dirs-v{version}", [0, 1, 7, -1])]), version=version),
                        _asked(("/nowhere", [("alter-dirs-nobody", [0])]), version=version, correlation_id=2),
                        _asked(("", [(f"alter-dirs-v{version}", [0])]), version=version, correlation_id=3),
                        _asked(("/nowhere", []), version=version, correlation_id=4),
                        _asked(version=version, correlation_id=5),
                        _asked(
                            ("/a", [(f"alter-dirs-v{version}", [0])]),
                            ("/b", [(f"alter-dirs-v{version}", [0, 1])]),
                            version=version,
                            correlation_id=6,
                        ),
                        _asked(("relative", [("x" * 249, [0]), ("a/b", [0])]), version=version, correlation_id=7),
                    )
                ),
                Settle(),
            ),
            (Topic(f"alter-dirs-v{version}", 2),),
        )
        for version in (1, 2)
    ),
]
