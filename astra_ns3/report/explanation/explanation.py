"""An explanation, in words and as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.frozen import asdict, dataclass, field
from astra_ns3.network.run_document import FloorDocument, FlowsDocument
from astra_ns3.report.alignment import aligned, percent
from astra_ns3.report.alike import name_of_all, together, unnumbered
from astra_ns3.report.explanation.parts import (
    KINDS,
    PARTS,
    WHOLE,
    Segment,
)
from astra_ns3.report.explanation.served import Behind
from astra_ns3.report.explanation.what_ifs import WhatIf
from astra_ns3.report.exposed_text import npu_computing, npu_time, place_words
from astra_ns3.report.floor_text import floor_rows
from astra_ns3.report.flow_text import completion_text, flow_rows
from astra_ns3.report.players import Players
from astra_ns3.units import counted, format_bytes, format_time

MOST_COLLECTIVES = 8
MOST_PARTS = 4
Row = TypeVar("Row")
_MAY_HELP = "what may help, and at most by how much"
_PLAYS = " (explain --play plays each change)"
_BY_CHANCE = "  packets were lost or late, so times change by chance: compare other seeds (run --seeds 8), too"
_MAY_HELP_MORE = "what else may help, and at most by how much"
# Fields of names with times, and what each name is called for scripts.
_PAIRS = (("exposed", "layer"), ("groups", "group"), ("npus", "npu"), ("ports", "port"), ("jobs", "job"))


@dataclass(frozen=True)
class Communication:
    """A collective's time on the critical path. ``parts``: by account, by :data:`PARTS`' columns, or all in one.

    ``layer``: the collective's layer, with which its name begins.
    """

    collective: int
    name: str
    time_ps: int
    messages: int
    parts: Mapping[str, int]
    layer: str = ""


@dataclass(frozen=True)
class ChannelTime:
    """The time on the critical path that NCCL's channels with a ``protocol`` spend on a ``kind`` of :data:`KINDS`."""

    kind: str
    protocol: str
    time_ps: int


@dataclass(frozen=True)
class Message:
    """One of the messages that lost most. ``excess_ps``: beyond what it would have taken alone; None: not known."""

    source: int
    destination: int
    bytes: int
    collective: int
    name: str
    chunk: int
    phase: int
    start_ps: int
    time_ps: int
    excess_ps: int | None
    parts: Mapping[str, int]
    path: tuple[tuple[str, int], ...]
    """Ports on its way, and what it waited at each."""
    critical: bool
    """Whether it, or one that is alike, is on the critical path."""
    alike: int = 1
    """So many messages differ in their ends and their start alone; this is the first of them."""
    behind: tuple[Behind, ...] = ()
    """The other jobs' messages that it waited behind, those with most time first."""
    layer: str = ""
    """The layer of its collective, with which the collective's name begins."""

    @property
    def lost_ps(self) -> int:
        """Return by what it ranks: how much more it took than alone, or what it took if that isn't known."""
        return self.time_ps if self.excess_ps is None else self.excess_ps


@dataclass(frozen=True)
class Played:
    """How changes were played: by which backend, and how long what is explained takes there, and took in the run.

    Both times are of all tries of a job that began again.
    ``untold``: changes that can't be played, and why. ``by_chance``: packets were lost.
    """

    backend: str
    time_ps: int
    own_backend: str
    own_time_ps: int
    untold: tuple[tuple[str, str], ...] = ()
    by_chance: bool = False

    @property
    def words(self) -> str:
        """Return the heading of what was played."""
        elsewhere = f", where it takes {format_time(self.time_ps)} and not {format_time(self.own_time_ps)}"
        return f"what helps, played on {self.backend}{elsewhere if self.backend != self.own_backend else ''}"


@dataclass(frozen=True)
class Explanation:
    """Why a run, an iteration or a collective took as long as it did; all times in ps.

    ``kinds``: of the critical path that are no messages, by :data:`KINDS`; with ``communications`` they add up to
    ``time_ps``. ``channels``: those kinds that are of NCCL's channels, by protocol. ``what_ifs``: how much sooner the
    end would come with a change, at most, or exactly if it was ``played``. ``npus``: time of the path on each NPU,
    those with most first. ``ports``: what deciding packets waited there. ``congested``: ports with pauses, marks, drops
    or long queues; None: without packets nobody counts these. ``missing``: what would tell more. Without the tables of
    the timeline there is no path: ``segments`` is empty, and ``exposed`` by layer all there is. ``groups``: exposed
    time by group of NPUs. ``flows``: of a list of flows what run.json has of them. ``report_npu``: the NPU that
    ``compute_ps``, ``exposed_ps``, ``exposed`` and ``groups`` are of. ``remedy``: what would record what messages
    waited for; empty if it was. ``floor``: of the run, which is told if the run lies below it. ``jobs``: of a job among
    several, how long its messages waited in lines behind those of each job, its own too; ``others``: the others'
    messages with most of that. ``players``: what senders and receivers are called. ``first_npu``: which of the
    network's NPUs is a job's NPU 0; None where all NPUs have the network's numbers. ``switches``: what the network's
    file or kind calls the switches of ports above. ``scales``: a row that says what the run's scales multiply.
    ``beside``: how much of ``compute_ps`` was beside collectives, and how many times as long it took for them.
    ``choices``: NCCL's other choices, if they were played; ``choices_text``: what is said of them. ``again``: whether
    the run can be played again.
    """

    subject: str
    time_ps: int
    compute_ps: int
    exposed_ps: int
    segments: tuple[Segment, ...] = ()
    kinds: Mapping[str, int] = field(default_factory=dict)
    communications: tuple[Communication, ...] = ()
    channels: tuple[ChannelTime, ...] = ()
    what_ifs: tuple[WhatIf, ...] = ()
    exposed: tuple[tuple[str, int], ...] = ()
    groups: tuple[tuple[str, int], ...] = ()
    slowest: tuple[Message, ...] = ()
    npus: tuple[tuple[int, int], ...] = ()
    ports: tuple[tuple[str, int], ...] = ()
    congested: tuple[Mapping[str, Any], ...] | None = None  # rows of ports.csv: numbers and words
    missing: tuple[str, ...] = ()
    flows: FlowsDocument | None = None
    report_npu: int = 0
    remedy: str = ""
    floor: FloorDocument | None = None
    jobs: tuple[tuple[str, int], ...] = ()
    others: tuple[Behind, ...] = ()
    players: Players = Players()
    first_npu: int | None = None
    beside: tuple[int, float] = (0, 1)
    switches: Mapping[str, str] = field(default_factory=dict)
    scales: tuple[tuple[str, str], ...] = ()
    choices: tuple[Json, ...] | None = None
    choices_text: str = ""
    played: Played | None = None
    again: bool = True

    @property
    def ports_told(self) -> Iterator[str]:
        """The ports that are told of, and the nodes behind them."""
        yield from (port for port, _ in self.ports)
        yield from (port for message in self.slowest for port, _ in message.path)
        yield from (str(row[end]) for row in self.congested or () for end in ("port", "link_to"))

    def __repr__(self) -> str:
        """Return what a notebook shows: the text."""
        return self.text()

    def text(self) -> str:
        """For people."""
        sections = [_head(self), _path(self), _what_ifs(self), _slowest(self), _links(self), _npus(self)]
        sections += [
            _jobs(self),
            _numbers(self),
            _congested(self),
            f"not told: {'; '.join(self.missing)}" if self.missing else "",
            self.choices_text,
        ]
        return "\n\n".join(section for section in sections if section)

    def document(self) -> JsonObject:
        """For scripts."""
        document = asdict(self)
        del document["players"], document["scales"], document["choices_text"], document["again"]
        if self.choices is None:
            del document["choices"]
        document["beside"] = dict(zip(("time_ps", "factor"), self.beside, strict=True))
        document["congested"] = None if self.congested is None else list(self.congested)
        document["kinds"] = [{"kind": kind, "words": KINDS[kind], "time_ps": ps} for kind, ps in self.kinds.items()]
        for each in document["channels"]:
            each["words"] = KINDS[each["kind"]]
        for name, key in _PAIRS:
            document[name] = [{key: what, "time_ps": ps} for what, ps in getattr(self, name)]
        for message, slow in zip(document["slowest"], self.slowest, strict=True):
            message["path"] = [{"port": port, "waited_ps": ps} for port, ps in slow.path]
        return document


def _grouped(rows: Iterable[Row], words: Callable[[Row], Hashable]) -> list[list[Row]]:
    """Return the rows, those together of which the words are the same."""
    groups: dict[Hashable, list[Row]] = {}
    for row in rows:
        groups.setdefault(words(row), []).append(row)
    return list(groups.values())


def different(rows: Iterable[Row], most: int, words: Callable[[Row], Hashable]) -> list[Row]:
    """Return the first rows, of which at most ``most`` differ in words."""
    return [row for same in _grouped(rows, words)[:most] for row in same]


def _rows_with_counts(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return names and words, one row for all that have the same words."""
    return [
        (f"{name} and {len(more):,} more" if more else name, f"{words}{' each' if more else ''}")
        for (name, words), *more in _grouped(rows, lambda row: row[1])
    ]


def _head(found: Explanation) -> str:
    rows = [("explained", f"{found.subject}: {format_time(found.time_ps)}")]
    rows += found.scales
    if found.subject.startswith("run"):
        rows += floor_rows({"floor": found.floor})
    if found.flows is not None:
        completion = completion_text(found.flows)
        head = aligned([*rows, *flow_rows(found.flows)])
        return f"{head}\n\ntime from start to delivery, and over the time alone\n{completion}" if completion else head
    if found.subject.startswith("run"):
        whole_ps, npu = found.compute_ps + found.exposed_ps, found.report_npu
        rows += [
            ("computing", npu_computing(found.compute_ps, whole_ps, npu)),
            *_beside(found),
            ("exposed", npu_time(found.exposed_ps, whole_ps, npu)),
        ]
        if len(found.groups) > 1:
            exposed = found.exposed_ps  # the whole that the run's own table has
            rows += [
                (f"  {place_words(group)}", f"{format_time(ps)}  ({percent(ps, exposed)} of it)")
                for group, ps in found.groups
            ]
    return aligned(rows)


def _beside(found: Explanation) -> list[tuple[str, str]]:
    """Return a row that says what collectives cost the computations beside them, if they do."""
    time_ps, factor = found.beside
    words = f"{format_time(time_ps)} of it, {factor:.4g} times as long as without: "
    return (
        [("  beside collectives", f"{words}{format_time(round(time_ps * (1 - 1 / factor)))} more")] if time_ps else []
    )


def _path(found: Explanation) -> str:
    if not found.segments:
        return _by_layer(found)
    links, alike = counted(len(found.segments), "link", "links"), _alike(found.communications)
    lines = [f"the chain that determines the end: {links}"]
    rows = [(words, _share(ps, found.time_ps)) for words, ps in _kinds(found)]
    shown, hidden = alike[:MOST_COLLECTIVES], alike[MOST_COLLECTIVES:]
    rows += [(f"messages of {each.name}", _share(each.time_ps, found.time_ps)) for each in shown]
    if hidden:
        rest = sum(each.time_ps for each in hidden)
        rows.append((f"messages of {counted(len(hidden), 'more', 'more')}", _share(rest, found.time_ps)))
    lines.append(aligned(rows, "  "))
    for each in shown:
        inner = [(PARTS.get(part, part), _share(ps, found.time_ps)) for part, ps in each.parts.items() if part != WHOLE]
        if inner:
            lines += [f"  {each.name}: {counted(each.messages, 'message', 'messages')}", aligned(inner, "    ")]
    return "\n".join(lines)


def _kinds(found: Explanation) -> list[tuple[str, int]]:
    """Return names and times of the chain's links that are no messages, by protocol; the longest first."""
    by_protocol = {each.kind for each in found.channels}
    rows = [(f"{KINDS[each.kind]} ({each.protocol})", each.time_ps) for each in found.channels]
    rows += [(KINDS[kind], ps) for kind, ps in found.kinds.items() if ps and kind not in by_protocol]
    return sorted(rows, key=lambda row: -row[1])


def _by_layer(found: Explanation) -> str:
    """The layers that exposed most, and all others in one row; layers that are alike in one."""
    exposed = [each for each in found.exposed if each[1]]
    alike = together(exposed, lambda each: unnumbered(each[0]), lambda each: each[1])
    rows = [(_layers_of(same), format_time(sum(ps for _, ps in same))) for same in alike[:MOST_COLLECTIVES]]
    if rest := [each for same in alike[MOST_COLLECTIVES:] for each in same]:
        rows.append((counted(len(rest), "other", "others"), format_time(sum(ps for _, ps in rest))))
    words = f"exposed communication of NPU {found.report_npu} by layer first waited for"
    return f"{words}\n{aligned(rows, '  ')}" if rows else ""


def _layers_of(same: Sequence[tuple[str, int]]) -> str:
    name = name_of_all([layer for layer, _ in same])
    return f"{name} ({len(same)} layers)" if len(same) > 1 else place_words(name)


def _alike(communications: Sequence[Communication]) -> list[Communication]:
    """Communications, as one with their count those that words can't tell apart or whose layers are alike."""
    same_words = _grouped(communications, lambda each: each.name)
    alike = together(same_words, lambda same: words_but_for_number(same[0].layer, same[0].name), _time_of)
    return [_together([each for same in group for each in same]) for group in alike]


def words_but_for_number(layer: str, name: str) -> tuple[str, str]:
    """Return a layer and the rest of a collective's name, which are the same for layers that are alike."""
    return unnumbered(layer), name.removeprefix(layer)


def _time_of(same: Iterable[Communication]) -> int:
    return sum(each.time_ps for each in same)


def _together(same: Sequence[Communication]) -> Communication:
    if len(same) == 1:
        return same[0]
    parts = Counter[str]()
    for each in same:
        parts.update(each.parts)
    layer, rest = name_of_all([each.layer for each in same]), same[0].name.removeprefix(same[0].layer)
    count, messages = f"{layer}{rest} ({len(same)} of them)", sum(each.messages for each in same)
    return Communication(same[0].collective, count, _time_of(same), messages, dict(parts.most_common()))


def _share(ps: int, whole_ps: int) -> str:
    return f"{format_time(ps):>10}  {percent(ps, whole_ps):>6}"


def _what_ifs(found: Explanation) -> str:
    """Return what was played, then what may help at most."""
    played = [(each.change, _saved(each, found)) for each in found.what_ifs if each.played]
    untold = {} if found.played is None else dict(found.played.untold)
    whys = {change: f", not played: {why}" for change, why in untold.items()}
    rows = [
        (each.change, _saved(each, found) + whys.pop(each.change, "")) for each in found.what_ifs if not each.played
    ]
    parts = []
    if found.played is not None:
        played += [(change, why.removeprefix(", ")) for change, why in whys.items()]
        of_all = found.played.own_time_ps != found.time_ps
        shares = f", in shares of all tries' {format_time(found.played.time_ps)}" if of_all else ""
        parts += [found.played.words + shares, aligned(played, "  "), *[_BY_CHANCE] * found.played.by_chance]
    elif found.remedy and found.segments:
        more = ", or explain with --play" if found.again else ""
        rows.append(("with another network", f"not told: run with {found.remedy}{more}"))
    if rows:
        may_help = _MAY_HELP + _PLAYS if found.again else _MAY_HELP
        parts += [may_help if found.played is None else _MAY_HELP_MORE, aligned(rows, "  ")]
    return "\n".join(parts)


def _saved(change: WhatIf, found: Explanation) -> str:
    whole_ps = found.played.time_ps if change.played and found.played is not None else found.time_ps
    less = "less" if change.time_ps >= 0 else "more"
    caveats = "".join(f", {words}" for words in change.caveats)
    return f"{percent(abs(change.time_ps), whole_ps)} {less} time  ({format_time(abs(change.time_ps))}){caveats}"


def _slowest(found: Explanation) -> str:
    if not found.slowest:
        return ""
    known = found.slowest[0].excess_ps is not None
    of_flows = found.flows is not None
    lines = ["messages that lost most" if known else "messages that took longest"]
    groups = together(_grouped(found.slowest, _slow_words), _pattern, lambda same: same[0].lost_ps)
    for group in sorted(groups, key=lambda group: -group[0][0].lost_ps):
        lines += _slow_lines([each for same in group for each in same], found.players, of_flows=of_flows)
    return "\n".join(lines)


def _pattern(same: Sequence[Message]) -> Hashable:
    """Return what messages share that differ in their layer's number and times alone; without a number, all words."""
    first = same[0]
    layer, rest = words_but_for_number(first.layer, first.name)
    return _slow_words(first) if layer == first.layer else (layer, rest, first.bytes)


def _slow_words(message: Message) -> tuple[object, ...]:
    """Return what is told of a message but for its ends and its start."""
    excess = None if message.excess_ps is None else format_time(message.excess_ps)
    waits = tuple(format_time(ps) for _, ps in message.path)
    others = tuple((each.job, format_time(each.time_ps)) for each in message.behind)
    return message.bytes, message.name, format_time(message.time_ps), excess, _parts_text(message), waits, others


def _slow_lines(same: Sequence[Message], players: Players, *, of_flows: bool) -> list[str]:
    """Return the lines of messages that are alike: the first, and how many more. A flow has no chunks or phases."""
    first, more = same[0], sum(message.alike for message in same) - 1
    layers = list(dict.fromkeys(message.layer for message in same))
    others = f" of {name_of_all(layers)}" if len(layers) > 1 else ""
    least, most = (format_time(end(message.time_ps for message in same)) for end in (min, max))
    took, up_to = (most, "") if least == most else (f"{least} to {most}", "up to ")
    mark = "  on the critical path" if any(message.critical for message in same) else ""
    excess = "" if first.excess_ps is None else f", {up_to}{format_time(first.excess_ps)} more than alone"
    lines = [
        f"{players.way(first.source, first.destination)}, {format_bytes(first.bytes)} of {first.name}, "
        f"{'' if of_flows else f'chunk {first.chunk}, phase {first.phase}, '}at {format_time(first.start_ps)}"
        f"{f', and {more:,} more{others}' if more else ''}: {took}{' each' if more else ''}{excess}{mark}"
    ]
    if first.parts:
        lines.append(_parts_text(first))
    lines += [f"behind {each.words(players)} ({format_time(each.time_ps)})" for each in first.behind]
    if first.path:
        lines.append(" > ".join(f"{port} ({format_time(ps)})" if ps else port for port, ps in first.path))
    return [f"  {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _parts_text(message: Message) -> str:
    largest = list(message.parts.items())[:MOST_PARTS]
    return ", ".join(f"{PARTS.get(part, part)} {format_time(ps)}" for part, ps in largest)


def _links(found: Explanation) -> str:
    if not found.ports:
        return ""
    rows = _rows_with_counts([(port, format_time(ps)) for port, ps in found.ports])
    return f"where messages waited (sums over messages)\n{aligned(rows, '  ')}"


def _jobs(found: Explanation) -> str:
    if not found.others:
        return ""
    rows = [(job, format_time(ps)) for job, ps in found.jobs]
    rows += [(f"  {each.words(found.players)}", format_time(each.time_ps)) for each in found.others]
    return f"whose messages they waited behind (sums over messages)\n{aligned(rows, '  ')}"


def _npus(found: Explanation) -> str:
    if not found.npus:
        return ""
    rows = _rows_with_counts([(found.players.name(npu), _share(ps, found.time_ps)) for npu, ps in found.npus])
    return f"NPUs on the chain\n{aligned(rows, '  ')}"


def _numbers(found: Explanation) -> str:
    """Return what numbers of NPUs and switches stand for."""
    lines = []
    if found.first_npu is not None:
        npu = f"NPU 0 here is the network's NPU {found.first_npu}"
        lines.append(f"NPUs are numbered in their job ({npu}), hosts and switches in the network")
    if found.switches:
        lines.append(f"switches: {', '.join(f'{switch} is {name}' for switch, name in found.switches.items())}")
    return "\n  ".join(["numbering", *lines]) if len(lines) > 1 else "".join(lines)


def _congested(found: Explanation) -> str:
    if found.congested is None:
        return ""
    if not found.congested:
        return "ports with most trouble: none dropped, lost, paused or marked a frame, or had a long queue"
    rows = _rows_with_counts([(f"{port['port']} to {port['link_to']}", port_words(port)) for port in found.congested])
    return f"ports with most trouble\n{aligned(rows, '  ')}"


def port_words(port: Mapping[str, Any]) -> str:  # a row of ports.csv
    """Return what trouble a port had."""
    words = [f"queue up to {format_bytes(port['highest_queue_bytes'])}"]
    if port["dropped_frames"]:
        words.append(counted(port["dropped_frames"], "frame dropped", "frames dropped"))
    if port["lost_frames"]:
        words.append(counted(port["lost_frames"], "frame lost on the link", "frames lost on the link"))
    if port["paused_ps"]:
        words.append(f"{port['stopped']} for {format_time(port['paused_ps'])}")
    if port["marked_frames"]:
        words.append(counted(port["marked_frames"], "frame marked", "frames marked"))
    return ", ".join(words)
