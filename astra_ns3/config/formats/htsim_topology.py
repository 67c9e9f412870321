"""Topology files of Broadcom's htsim (csg-htsim): a fat tree of two or three tiers, as a graph.

Lines are a word and a number. First ``Nodes``, ``Tiers`` and ``Podsize``; then for each tier, the lowest first,
``Tier t`` and its keys. Its source is the model. A switch of tier 0 has ``Radix_Down`` hosts, each switch of a pod's
tier 1 a bundle of links to each of its pod's tier 0, and core switches p, p + A, ... are joined to each pod's
aggregation switch p of A. A link has the speed and latency of the tier above it. A switch's latency is added to its
links, half to each, so that a packet through it takes as long.
"""

from __future__ import annotations

from astra_ns3.config.core.rows import Row, rows_of
from astra_ns3.config.formats.plain_graph import MOST_LINKS, MOST_NODES, PlainGraph, PlainLink, PlainNode
from astra_ns3.errors import nearest, refuse
from astra_ns3.frozen import dataclass
from astra_ns3.units import PS_PER_NS, counted

MOST = 1_000_000
_HEADER = ("nodes", "tiers", "podsize")
_NEEDED = ("downlink_speed_gbps", "downlink_latency_ns", "radix_down")
_TIER_KEYS = (*_NEEDED, "radix_up", "queue_up", "queue_down", "oversubscribed", "bundle", "switch_latency_ns")
_NAMES = ("ToR", "aggregation", "core")
_CLASSES = ("link", "uplink", "core")
_BPS_PER_GBPS = 10**9


@dataclass(frozen=True)
class _Tier:
    """One tier's numbers by key, and the row at which it begins."""

    row: Row
    numbers: dict[str, int]

    def get(self, key: str, default: int = 0) -> int:
        return self.numbers.get(key, default)

    def refuse(self, condition: bool, message: str) -> None:
        self.row.refuse(condition, f"{' '.join(self.row.words)}: {message}")

    def buffer_bytes(self) -> int | None:
        """Its ports' queues together, if the file says them."""
        if not {"queue_up", "queue_down"} & set(self.numbers):
            return None
        down, up = self.get("radix_down") * self.get("queue_down"), self.get("radix_up") * self.get("queue_up")
        return (down + up) or None


@dataclass(frozen=True)
class _Tree:
    """A fat tree: how many it has of everything."""

    pods: int
    tors: int
    """In a pod, as is the next."""
    aggregations: int
    cores: int


def parse_htsim_topology(text: str, source: str) -> PlainGraph:
    """The graph that ``text`` describes; raises InputError with file and line."""
    rows = [row for row in rows_of(text, source) if not row.words[0].startswith("#")]
    header, tiers = _header(rows, source), _tiers(rows, source)
    refuse(header["tiers"] not in (2, 3), f"has {header['tiers']} tiers, expected 2 or 3", source)
    refuse(len(tiers) != header["tiers"], f"says {header['tiers']} tiers, found {len(tiers)}", source)
    return _graph(source, header["nodes"], tiers, _tree(header, tiers, source))


def looks_like_htsim(text: str) -> bool:
    """Whether the first lines are those of such a file."""
    words = [line.split() for line in text[:10_000].splitlines()]
    said = [line for line in words if line and not line[0].startswith("#")]
    first = {line[0].lower() for line in said[: len(_HEADER)] if len(line) == 2 and line[1].isdecimal()}
    return {"nodes", "tiers"} <= first


def _header(rows: list[Row], source: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        key = row.words[0].lower()
        if key == "tier":
            break
        if key not in _HEADER:
            raise row.error(f"'{row.words[0]}' is not one of Nodes, Tiers, Podsize{nearest(key, _HEADER)}")
        found[key] = _number(row, found, 1)
    for key in _HEADER:
        refuse(key not in found, f"'{key.capitalize()}' is missing", source)
    return found


def _number(row: Row, found: dict[str, int], least: int) -> int:
    row.refuse(row.words[0].lower() in found, f"'{row.words[0]}' stands twice")
    row.refuse(len(row.words) != 2, f"found {counted(len(row.words), 'word')}, expected '{row.words[0]}' and a number")
    return row.integer(1, row.words[0], least, MOST)


def _tiers(rows: list[Row], source: str) -> list[_Tier]:
    tiers: list[_Tier] = []
    for row in rows:
        key = row.words[0].lower()
        if key == "tier":
            row.refuse(
                len(row.words) != 2 or row.words[1] != str(len(tiers)),
                f"found '{' '.join(row.words)}', expected 'Tier {len(tiers)}': the lowest first",
            )
            tiers.append(_Tier(row, {}))
        elif tiers:
            if key not in _TIER_KEYS:
                raise row.error(f"'{row.words[0]}' is no key of a tier{nearest(key, _TIER_KEYS)}")
            least = 0 if key.endswith("latency_ns") else 1
            tiers[-1].numbers[key] = _number(row, tiers[-1].numbers, least)
    for number, tier in enumerate(tiers):
        top = number == len(tiers) - 1
        for key in (*_NEEDED, *(() if top else ("radix_up",))):
            tier.refuse(key not in tier.numbers, f"'{key}' is missing")
        tier.refuse(
            top and not tier.numbers.keys().isdisjoint({"radix_up", "queue_up"}),
            "has radix_up or queue_up, but nothing is above the highest tier",
        )
    return tiers


def _tree(header: dict[str, int], tiers: list[_Tier], source: str) -> _Tree:
    """Counts, from the lowest tier up; raises InputError where two numbers of the file contradict each other."""
    nodes, pod = header["nodes"], header["podsize"]
    refuse(
        bool(nodes % pod or pod % tiers[0].get("radix_down")),
        f"Podsize {pod} is no divisor of Nodes {nodes} and multiple of tier 0's Radix_Down",
        source,
    )
    refuse(
        len(tiers) == 2 and pod != nodes, f"Podsize is {pod}, expected all {nodes} Nodes: two tiers are one pod", source
    )
    tiers[0].refuse(tiers[0].get("bundle", 1) != 1, "Bundle is not 1, but each host has one link")
    tors = pod // tiers[0].get("radix_down")
    aggregations = _above(tiers[0], tiers[1])
    _check_down(tiers[1], tors, "ToR switches of its pod")
    _check_ratio(tiers[0], tiers[1])
    if len(tiers) == 2:
        return _Tree(1, tors, aggregations, 0)
    pods = nodes // pod
    _check_down(tiers[2], pods, "pods")
    _check_ratio(tiers[1], tiers[2])
    return _Tree(pods, tors, aggregations, aggregations * _above(tiers[1], tiers[2]))


def _above(tier: _Tier, upper: _Tier) -> int:
    """How many switches of the tier above one switch is joined to."""
    bundle = upper.get("bundle", 1)
    tier.refuse(
        tier.get("radix_up") % bundle != 0,
        f"Radix_Up is {tier.get('radix_up')}, expected a multiple of the Bundle above, {bundle}",
    )
    return tier.get("radix_up") // bundle


def _check_down(tier: _Tier, lower: int, what: str) -> None:
    expected = lower * tier.get("bundle", 1)
    tier.refuse(
        tier.get("radix_down") != expected,
        f"Radix_Down is {tier.get('radix_down')}, expected {expected}: {lower} {what}, "
        f"{tier.get('bundle', 1)} links each",
    )


def _check_ratio(tier: _Tier, upper: _Tier) -> None:
    if "oversubscribed" not in tier.numbers:
        return
    down = tier.get("radix_down") * tier.get("downlink_speed_gbps")
    up = tier.get("radix_up") * upper.get("downlink_speed_gbps")
    tier.refuse(
        down != tier.get("oversubscribed") * up,
        f"Oversubscribed is {tier.get('oversubscribed')}, but {down} Gb/s go down and {up} Gb/s up",
    )


def _graph(source: str, hosts: int, tiers: list[_Tier], tree: _Tree) -> PlainGraph:
    counts = (tree.pods * tree.tors, tree.pods * tree.aggregations, tree.cores)
    up = counts[0] * tiers[0].get("radix_up") + (counts[1] * tiers[1].get("radix_up") if tree.cores else 0)
    refuse(
        hosts + up > MOST_LINKS or sum(counts) > MOST_NODES,
        f"makes {hosts + up} links and {sum(counts)} switches, which is too many",
        source,
    )
    names = [str(host) for host in range(hosts)]
    nodes = [PlainNode(kind="host")] * hosts
    for level, tier in enumerate(tiers):
        for number in range(counts[level]):
            label = f"{_NAMES[level]} {number}"
            names.append(label)
            keys = {"kind": "switch", "buffer": tier.buffer_bytes(), "label": label, "level": level + 1}
            nodes.append(PlainNode.model_validate(keys))
    ends: list[tuple[int, int]] = []
    links: list[PlainLink] = []
    first = (0, hosts, hosts + counts[0], hosts + counts[0] + counts[1])
    for level, pairs in enumerate(_pairs(hosts, tiers, tree)):
        link = _link(tiers, level)
        for low, high in pairs:
            for _ in range(tiers[level].get("bundle", 1)):
                ends.append((first[level] + low, first[level + 1] + high))
                links.append(link)
    return PlainGraph(source, tuple(names), tuple(nodes), tuple(ends), tuple(links))


def _pairs(hosts: int, tiers: list[_Tier], tree: _Tree) -> list[list[tuple[int, int]]]:
    """Numbers, within their tiers, of the two switches (or host and switch) that each bundle joins, tier by tier."""
    tors, aggregations = tree.tors, tree.aggregations
    below = [(host, host // tiers[0].get("radix_down")) for host in range(hosts)]
    middle = [
        (tor, tor // tors * aggregations + index) for tor in range(tree.pods * tors) for index in range(aggregations)
    ]
    above = [
        (number, core)
        for number in range(tree.pods * aggregations)
        for core in range(number % aggregations, tree.cores, aggregations)
    ]
    return [below, middle, above][: len(tiers)]


def _link(tiers: list[_Tier], level: int) -> PlainLink:
    switches = [tiers[level], *([tiers[level - 1]] if level else [])]
    through_ps = sum(switch.get("switch_latency_ns") * PS_PER_NS // 2 for switch in switches)
    return PlainLink.model_construct(
        rate_bps=tiers[level].get("downlink_speed_gbps") * _BPS_PER_GBPS,
        delay_ps=tiers[level].get("downlink_latency_ns") * PS_PER_NS + through_ps,
        error_rate=0.0,
        kind=_CLASSES[level],
        cost=1,
    )
