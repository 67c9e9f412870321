"""YAML text to a :class:`Document`, stricter than YAML is.

Keys are words, a key may stand once, numbers are decimal (YAML 1.1 reads ``010`` as 8 and ``1:30`` as 90), and
anchors, aliases and tags are refused: a configuration needs none of them, and each is a trap.
"""

from __future__ import annotations

import re

import yaml

from astra_ns3.config.document import Document, KeyPath
from astra_ns3.errors import InputError

_TAG = "tag:yaml.org,2002:"
_DECIMAL_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_DECIMAL_NUMBER = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+]?[0-9]+)?|[-+]?\.[0-9][0-9_]*([eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 40


def parse_yaml(text: str, source: str) -> Document:
    """Read ``text``; ``source`` names the file in messages.

    Raises InputError with file and line for anything that is not a plain YAML mapping.
    """
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if getattr(event, "anchor", None) is not None:
                raise InputError(f"{source}:{_line(event)}: anchors and aliases are not allowed")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{source}:{mark.line + 1}" if mark else source
        raise InputError(f"{place}: is not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{source}: is not valid YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InputError(f"{source}: is nested too deeply") from error
    if not isinstance(node, yaml.MappingNode):
        raise InputError(f"{source}:{_line(node) if node else 1}: expected 'key: value' lines")
    lines: dict[KeyPath, int] = {}
    return Document(source, _value(node, (), source, lines), lines)


def _line(node: yaml.Node | yaml.Event) -> int:
    return node.start_mark.line + 1 if node.start_mark else 1


def _value(node: yaml.Node, path: KeyPath, source: str, lines: dict[KeyPath, int]) -> object:
    if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
        return _mapping(node, path, source, lines)
    if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
        entries = []
        for position, entry in enumerate(node.value):
            lines[(*path, position)] = _line(entry)
            entries.append(_value(entry, (*path, position), source, lines))
        return entries
    return _scalar(node, source)


def _mapping(node: yaml.MappingNode, path: KeyPath, source: str, lines: dict[KeyPath, int]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise InputError(f"{source}:{_line(key_node)}: a key must be a word")
        key = str(key_node.value)
        here = (*path, key)
        if key in found:
            raise InputError(f"{source}:{_line(key_node)}: key '{key}' stands twice (first on line {lines[here]})")
        lines[here] = _line(key_node)
        found[key] = _value(value_node, here, source, lines)
    return found


def _scalar(node: yaml.Node, source: str) -> str | int | float | bool | None:
    tag, text = str(node.tag), str(node.value)
    if tag == _TAG + "null":
        return None
    if tag == _TAG + "bool":
        return text.lower() in ("yes", "true", "on")
    if tag in (_TAG + "int", _TAG + "float"):
        return _number(text, f"{source}:{_line(node)}")
    if tag in (_TAG + "str", _TAG + "timestamp", _TAG + "value", _TAG + "merge"):
        return text
    raise InputError(f"{source}:{_line(node)}: tag '{tag}' is not allowed")


def _number(text: str, place: str) -> int | float:
    if len(text) <= _LONGEST_NUMBER:
        if _DECIMAL_INTEGER.fullmatch(text):
            return int(text.replace("_", ""))
        if _DECIMAL_NUMBER.fullmatch(text):
            return float(text.replace("_", ""))
    raise InputError(f"{place}: {text[:_LONGEST_NUMBER]!r} is not a finite decimal number of reasonable length")
