"""The table of endpoints, as Markdown: `python -m fakebroker.control.endpoints`, for docs/http.md."""

from __future__ import annotations

from typing import Any

from fakebroker.control.app import new_api
from fakebroker.control.clusters import Clusters
from fakebroker.server.async_cluster import AsyncFakeCluster


def table() -> str:
    """Return a line for each method of each path, except those of other clusters."""
    document = new_api(Clusters(AsyncFakeCluster())).openapi()
    lines = ["| | | body or query | what for |", "|---|---|---|---|"]
    for path, methods in document["paths"].items():
        if not path.startswith("/v1/clusters/{cluster_id}/"):
            for method, operation in methods.items():
                members = ", ".join(f"`{name}`" for name in _members(document, operation))
                lines.append(f"| {method.upper()} | `{path}` | {members} | {_first_sentence(operation)} |")
    return "\n".join(lines) + "\n"


def _members(document: dict[str, Any], operation: dict[str, Any]) -> list[str]:
    queries = [parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
    body = operation.get("requestBody")
    if body is None:
        return queries
    schema = body["content"]["application/json"]["schema"]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return queries + list(schema["properties"])


def _first_sentence(operation: dict[str, Any]) -> str:
    text = " ".join(operation["description"].split())
    return text.partition(". ")[0].rstrip(".") + "."


if __name__ == "__main__":
    print(table(), end="")
