"""A YAML reader that keeps the place of every value, for messages that say where a mistake is.

Theory   PyYAML's composer gives nodes that know their lines. Its constructor makes their values, after a check that no
         key occurs twice, which YAML forbids and PyYAML allows.
         Used by `serve` for its files, and by the load for its scenarios: it imports nothing of ours.
Units    lines and columns count from 1.
Source   YAML 1.1, as PyYAML's SafeLoader reads it: JSON is part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import yaml

Path = tuple[str | int, ...]  # keys and positions in lists, from the top


class Place(NamedTuple):
    """The place of a value."""

    line: int
    column: int


class BadYaml(Exception):
    """The text is no YAML, or has a key twice."""

    def __init__(self, sentence: str, place: Place | None) -> None:
        super().__init__(sentence)
        self.place = place


class YamlNotInstalled(BadYaml):
    """The text cannot be read because PyYAML is missing."""

    def __init__(self) -> None:
        super().__init__("YAML is read with PyYAML, which is not installed: pip install PyYAML", None)


class Document(NamedTuple):
    """The content of a text. `places` are those of keys, and of the items of lists, by their path."""

    value: Any
    places: dict[Path, Place]

    def place(self, path: Path) -> Place:
        """Return the place of a path, or of the nearest part above it that has one."""
        while path not in self.places and path:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))


def read(text: str, *, keys: type | UnionType = str | int) -> Document:
    """Read a document with keys of these types. Raises BadYaml."""
    try:
        import yaml
    except ModuleNotFoundError:
        raise YamlNotInstalled from None
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return Document(None, {})
        places = dict(_places(node, (), loader, keys))
        return Document(loader.construct_document(node), places)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = None if mark is None else Place(mark.line + 1, mark.column + 1)
        raise BadYaml(f"this is not valid YAML: {error.problem or error.context}", place) from None
    except yaml.reader.ReaderError as error:
        raise BadYaml(f"this is not valid YAML: {error.reason}", None) from None
    except (ValueError, RecursionError) as error:  # for example a date that does not exist; brackets without end
        raise BadYaml(f"this YAML cannot be read: {error}", None) from None


def _places(
    node: yaml.Node, path: Path, loader: yaml.SafeLoader, keys: type | UnionType, around: tuple[yaml.Node, ...] = ()
) -> Iterator[tuple[Path, Place]]:
    if any(node is outer for outer in around):
        raise BadYaml("an alias within this value refers to the value itself", _place(node))
    around = (*around, node)
    if node.id == "mapping":
        seen = set()
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            place = _place(key_node)
            if not isinstance(key, str | int) or not isinstance(key, keys):
                raise BadYaml(f"a key must be a word, not {key!r}", place)
            if key in seen:
                raise BadYaml(f"{key!r} is here twice", place)
            seen.add(key)
            yield (*path, key), place
            yield from _places(value_node, (*path, key), loader, keys, around)
    elif node.id == "sequence":
        for index, item in enumerate(node.value):
            yield (*path, index), _place(item)
            yield from _places(item, (*path, index), loader, keys, around)


def _place(node: yaml.Node) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)
