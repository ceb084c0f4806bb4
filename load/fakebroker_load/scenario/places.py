"""YAML with the line of everything in it: what a reader needs to say where a slip is.

Theory   PyYAML's composer gives nodes with their lines; its constructor makes values. `serve` has the same for
         its files in fakebroker.server.scenario.places; the load imports no server.
Units    lines count from 1.
Source   YAML 1.1, as PyYAML's SafeLoader reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

Path = tuple[str | int, ...]  # keys and positions in lists, from the top


class BadYaml(Exception):
    """The text is no YAML, or says something twice. `line` is where."""

    def __init__(self, sentence: str, line: int) -> None:
        super().__init__(sentence)
        self.line = line


class Document(NamedTuple):
    """What a text says. `lines` are those of keys and of the items of lists, by their path."""

    value: Any
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """Where it stands, or what it belongs to, if it does not stand anywhere."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


def read(text: str) -> Document:
    """Raises BadYaml."""
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return Document(None, {})
        lines = dict(_lines(node, (), loader))
        return Document(loader.construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadYaml(
            f"it is no YAML: {error.problem or error.context}", 1 if mark is None else mark.line + 1
        ) from None
    except yaml.reader.ReaderError as error:
        raise BadYaml(f"it is no YAML: {error.reason}", 1) from None
    except (ValueError, RecursionError) as error:  # a date that does not exist; brackets without end
        raise BadYaml(f"it is no YAML that can be read: {error}", 1) from None


def _lines(node: yaml.Node, path: Path, loader: yaml.SafeLoader) -> Iterator[tuple[Path, int]]:
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                raise BadYaml(f"a key is a word, and not {key!r}", line)
            if key in seen:
                raise BadYaml(f"{key!r} stands here twice", line)
            seen.add(key)
            yield (*path, key), line
            yield from _lines(value_node, (*path, key), loader)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield (*path, index), item.start_mark.line + 1
            yield from _lines(item, (*path, index), loader)
