"""Things that a graph doesn't say although a network needs them: all of it in one line, with the lines that mend it."""

from __future__ import annotations

from collections import Counter

from astra_ns3.config.formats.graphs.raw import RawGraph
from astra_ns3.config.formats.plain_graph import LINK_KEYS
from astra_ns3.errors import wrong

_DEFAULTS = {"rate": "rate: 100Gbps", "delay": "delay: 1us"}
_MOST_SHOWN = 6


def check_lacking(raw: RawGraph) -> None:
    """Raise InputError if nodes don't say what they are or links have no rate or delay."""
    without_kind = [node for node in raw.nodes if "kind" not in node.attributes]
    without = {key: [link for link in raw.links if key not in link.attributes] for key in _DEFAULTS}
    lacking = [f"'{key}' of {_of(len(links), len(raw.links))} links" for key, links in without.items() if links]
    lines = []
    if without_kind:
        lacking.insert(0, f"'kind' (host or switch) of {_of(len(without_kind), len(raw.nodes))} nodes")
        lines.append(_hosts(raw))
    missing = [line for key, line in _DEFAULTS.items() if without[key]]
    if missing:
        lines.append(f"defaults: {{{', '.join(missing)}}}")
    if not lines:
        return
    wheres = [*(node.where for node in without_kind[:1]), *(links[0].where for links in without.values() if links)]
    first = min(wheres, key=len)
    raise wrong(
        f"the graph lacks {', '.join(lacking)}{_has(raw)}; beside path in the network file, add "
        f"'{', '.join(lines)}' with values of yours (docs/graph-files.md)",
        first,
    )


def _hosts(raw: RawGraph) -> str:
    """Keys with which every host reaches every other, if any do."""
    pairs = {frozenset((link.a, link.b)) for link in raw.links if link.a != link.b}
    neighbours = Counter(name for pair in pairs for name in pair)
    leaves = sum(count == 1 for count in neighbours.values())
    if 1 < leaves < len(raw.nodes):
        return "hosts: leaves"
    whole_mesh = 2 * len(pairs) == len(raw.nodes) * (len(raw.nodes) - 1)
    return "hosts: all" if whole_mesh else "hosts: all, forwarding: hosts"


def _of(count: int, total: int) -> str:
    return f"all {total}" if count == total else f"{count} of {total}"


def _has(raw: RawGraph) -> str:
    """The attributes of links that there are: one of them may be what is lacking, under another name."""
    names = list(dict.fromkeys(name for link in raw.links for name in link.attributes))
    others = [name for name in names if name not in (*LINK_KEYS, "id")]
    if not others:
        return ""
    listed = ", ".join(others[:_MOST_SHOWN]) + (", ..." if len(others) > _MOST_SHOWN else "")
    return f" (links have {listed}; if one of them is the rate, add 'attributes: {{rate: NAME}}')"
