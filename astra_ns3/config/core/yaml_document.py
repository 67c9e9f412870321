"""YAML text to a :class:`Document`, stricter than YAML is.

Keys are words, a key may stand once, numbers are decimal (YAML 1.1 reads ``010`` as 8 and ``1:30`` as 90), and
tags are refused. Anchors and aliases, as programs write them for what stands twice, are read.
"""

from __future__ import annotations

import json
import re

import yaml

from astra_ns3.config.core.document import Document, KeyPath
from astra_ns3.config.core.json_reading import not_json
from astra_ns3.errors import Where, located, wrong

_TAG = "tag:yaml.org,2002:"
_DECIMAL_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_DECIMAL_NUMBER = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[-+]?\.[0-9][0-9_]*([eE][-+]?[0-9]+)?")
# A mapping of YAML may begin with a brace, too, but then without quotes.
_JSON = re.compile(r'\s*\{\s*(?:["}]|$)')
_LONGEST_NUMBER = 40
_DEEPEST = 50
# Aliases multiply what they stand for; a file of ours, graphs too, has fewer values than this.
_MOST_VALUES = 1_000_000


def parse_yaml(text: str, source: str) -> Document:
    """Read ``text``; ``source`` names the file in messages.

    Raises InputError with file and line for anything that is not a plain YAML mapping.
    """
    try:
        _check_depth(text, source)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        check_json(text, source)
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}" if mark else source
        raise wrong(f"is not valid YAML: {error.problem or error.context}", where) from error
    except yaml.YAMLError as error:
        raise wrong(f"is not valid YAML: {' '.join(str(error).split())}", source) from error
    except RecursionError as error:
        raise wrong("is nested too deeply", source) from error
    if not isinstance(node, yaml.MappingNode):
        raise wrong("expected 'key: value' lines", Where(source, _line(node) if node else 1))
    if _values(node, {}) > _MOST_VALUES:
        raise wrong(f"its aliases stand for more than {_MOST_VALUES} values", source)
    reader = _Reader(source)
    return Document(source, reader.value(node, ()), reader.lines)


def check_json(text: str, source: str) -> None:
    """Raise InputError, with line and column, for what begins as JSON and isn't; YAML's words don't fit it."""
    try:
        json.loads(text if _JSON.match(text) else "{}")
    except json.JSONDecodeError as error:
        raise not_json(error, source) from error
    except (ValueError, RecursionError):  # the reader says what is wrong
        return


def _check_depth(text: str, source: str) -> None:
    """Refuse what is nested deeper than any of our files, before PyYAML's time for it, a square, is spent."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise wrong(f"is nested too deeply: more than {_DEEPEST} levels", Where(source, _line(event)))


def _values(node: yaml.Node, known: dict[int, int]) -> int:
    """For how many values ``node`` stands, aliases too; each node is counted once, inside of itself as one value."""
    if id(node) not in known:
        known[id(node)] = 1
        known[id(node)] += sum(
            _values(part[1] if isinstance(part, tuple) else part, known)
            for part in (() if isinstance(node, yaml.ScalarNode) else node.value)
        )
    return known[id(node)]


def _line(node: yaml.Node | yaml.Event) -> int:
    return node.start_mark.line + 1 if node.start_mark else 1


class _Reader:
    """Makes plain data of nodes and notes on which line each value stood; an alias is read as what it stands for."""

    def __init__(self, source: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._source = source
        self._inside: list[yaml.Node] = []

    def value(self, node: yaml.Node, path: KeyPath) -> object:
        """The value of ``node``, which stands at ``path``."""
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node, self._source, path)
        if any(node is around for around in self._inside):
            raise wrong("an alias stands inside of what it stands for", Where(self._source, _line(node)))
        self._inside.append(node)
        try:
            return self._collection(node, path)
        finally:
            self._inside.pop()

    def _collection(self, node: yaml.Node, path: KeyPath) -> object:
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            entries = []
            for position, entry in enumerate(node.value):
                self.lines[(*path, position)] = _line(entry)
                entries.append(self.value(entry, (*path, position)))
            return entries
        return _scalar(node, self._source, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        found: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise wrong("a key must be a word", Where(self._source, _line(key_node)))
            key = str(key_node.value)
            here = (*path, key)
            if key in found:
                raise wrong(
                    f"key '{key}' stands twice (first on line {self.lines[here]})", Where(self._source, _line(key_node))
                )
            self.lines[here] = _line(key_node)
            found[key] = self.value(value_node, here)
        return found


def _scalar(node: yaml.Node, source: str, path: KeyPath) -> str | int | float | bool | None:
    tag, text = str(node.tag), str(node.value)
    if tag == _TAG + "null":
        return None
    if tag == _TAG + "bool":
        return text.lower() in ("yes", "true", "on")
    if tag in (_TAG + "int", _TAG + "float"):
        with located(Where(source, _line(node))):
            return _number(text, ".".join(map(str, path)))
    if tag in (_TAG + "str", _TAG + "timestamp", _TAG + "value", _TAG + "merge"):
        return text
    raise wrong(f"tag '{tag}' is not allowed", Where(source, _line(node)))


def _number(text: str, key: str) -> int | float:
    if len(text) <= _LONGEST_NUMBER:
        if _DECIMAL_INTEGER.fullmatch(text):
            return int(text.replace("_", ""))
        if _DECIMAL_NUMBER.fullmatch(text):
            return float(text.replace("_", ""))
    shown = text[:_LONGEST_NUMBER]
    raise wrong(f"key '{key}': found {shown!r}, expected a finite decimal number of at most {_LONGEST_NUMBER} letters")
