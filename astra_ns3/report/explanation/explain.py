"""From the tables of a run to what made it so long: sums over the critical path, and what cost most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import InputError
from astra_ns3.frozen import replace
from astra_ns3.network.run_document import RunDocument
from astra_ns3.report.explanation.explanation import (
    ChannelTime,
    Communication,
    Explanation,
    Message,
    different,
    port_words,
    words_but_for_number,
)
from astra_ns3.report.explanation.parts import (
    KINDS,
    LOST_SIGNAL,
    MESSAGE,
    PARTS,
    SIGNAL,
    WHOLE,
    Segment,
)
from astra_ns3.report.explanation.path import critical_path, path_of_collective
from astra_ns3.report.explanation.run_tables import Tables, alone_ps
from astra_ns3.report.explanation.served import Served
from astra_ns3.report.explanation.slowed import Slowed, beside_ps, longer_ps, slowed_beside, slowed_npus, slowness_of
from astra_ns3.report.explanation.what_ifs import (
    ANEW,
    FASTER_LINES,
    FASTER_NPUS,
    NO_DELAYS,
    NO_SLOW_NPUS,
    ORDER,
    Bounds,
    WhatIf,
    parts_of_messages,
    waited_for_others,
    what_ifs,
)
from astra_ns3.report.exposed_text import exposed_times, scale_rows
from astra_ns3.report.own_bytes import Columns, has_accounts, recorded_messages
from astra_ns3.report.players import players_of
from astra_ns3.report.ports import switch_names
from astra_ns3.report.records import (
    COLLECTIVES,
    ENDED_BY,
    SWITCH,
    by_value,
    end_of,
    last_try,
    never_started,
    shown_part,
    stop_of,
)
from astra_ns3.report.signals import Signals
from astra_ns3.report.summary import hidden_rows
from astra_ns3.report.tables import (
    PACKETS_NEEDED,
    Records,
    check_results,
    how_to_record,
    is_analytical,
    is_of_flows,
    stopped_by,
)
from astra_ns3.units import format_time

TOP = 10
# Messages with the same of these, as long, and with the same parts of their time, are one line.
_ALIKE = ("collective", "bytes")
_WAITED = ("queue_ps", "paused_ps", "slowed_ps")
# A queue that never held more of a port's mean frames is no trouble.
_FEW_FRAMES = 10
# A message tells of so many of others that it waited behind.
_MOST_BEHIND = 3
# So many slowdowns of NPUs are named.
_MOST_SLOWED = 4
# Of so many rows for each line asked for the distinct ones are told.
_MOST_ALIKE = 1000


def explain(
    run: Records, *, iteration: int | None = None, collective: int | None = None, top: int = TOP
) -> Explanation:
    """Why the run took so long; ``iteration``: why one training pass did; ``collective``: why one collective did.

    ``top``: so many messages, ports and NPUs; those that words tell alike count as one. What was not recorded is left
    out, and named. Raises InputError for an iteration or collective that is not there, or of which no table tells.
    """
    check_results(run)
    metadata, names = run.metadata, _names(run)
    of_flows = is_of_flows(run)
    messages, hops = recorded_messages(run)
    tables, untold = _tables(run, messages, needed=iteration is not None or collective is not None)
    subject, segments = _subject(run, iteration, collective), _chain(tables, iteration, collective)
    remedy = "" if has_accounts(messages) else how_to_record(run, "accounts")
    whole, rows = iteration is None and collective is None, _rows_of_subject(run, messages, iteration, collective)
    rows = _with_data(messages, rows)
    waits, served = _waits(run, messages, hops, rows), Served(run)
    communications = _communications(segments, tables, names, _layers(run)) if tables is not None else ()
    time_ps = sum(segment.time_ps for segment in segments) if segments else end_of(metadata)
    told = lost_signals_apart(segments, messages)
    found = Explanation(
        subject,
        time_ps,
        int(metadata.get("compute_ps", 0)),
        int(metadata.get("exposed_ps", 0)),
        segments,
        dict(_by_kind(told).most_common()),
        communications,
        _by_protocol(told),
        _what_would_help(run, tables, segments, whole=whole),
        tuple((each["layer"], each["exposed_ps"]) for each in metadata["exposed_by_layer"]),
        tuple(exposed_times(metadata, "group")),
        _slowest(run, messages, rows, (waits, served), segments, names, top),
        _by_npu(segments, top),
        _by_port(waits, top),
        _congested(run, top) if whole else None,
        _missing(run, untold, messages, remedy, whole=whole),
        metadata["flows"] if of_flows else None,
        int(metadata["report_npu"]),
        remedy,
        metadata.get("floor"),
        *(*served.totals(rows, top), players_of(run), _first_npu(run), _beside(tables, metadata)),
    )
    scales = (*scale_rows(metadata), *_slowed_rows(slowed_npus(metadata)), *(hidden_rows(metadata) if whole else ()))
    return replace(found, switches=switch_names(run, found.ports_told), scales=scales)


def _tables(run: Records, messages: Columns | None, *, needed: bool) -> tuple[Tables | None, str]:
    """Return the tables of programs, or why there are none; raises InputError for that if they are needed."""
    try:
        return Tables(run, messages), ""
    except InputError as error:
        if needed:
            raise
        return None, "" if is_of_flows(run) else str(error)


def _slowed_rows(slowed: Sequence[Slowed]) -> list[tuple[str, str]]:
    """Return a row that names the first of the NPUs that are slowed down, if any is."""
    more = f"; and {len(slowed) - _MOST_SLOWED} more" if len(slowed) > _MOST_SLOWED else ""
    words = "; ".join(each.words for each in slowed[:_MOST_SLOWED])
    return [("slowed down", words + more)] if slowed else []


def _first_npu(run: Records) -> int | None:
    """Return which of the network's NPUs is a job's first; None where all have the network's numbers."""
    npus = (run.metadata.get("job") or {}).get("npus") or []
    return None if npus == list(range(len(npus))) else npus[0]


def _beside(tables: Tables | None, metadata: RunDocument) -> tuple[int, float]:
    """Return how long the reported NPU computed beside collectives that slow it, and how many times as long it took."""
    factor = slowed_beside(metadata)
    return (0, 1) if tables is None or factor == 1 else (beside_ps(tables, int(metadata["report_npu"])), float(factor))


def nccl_chose_by_lines(run: Records, segments: Sequence[Segment]) -> bool:
    """Return whether NCCL chose for a collective of the chain by the network file's lines, and not by a server's."""
    table = run.metadata.get("system", {}).get("nccl") or {}
    if table.get("server") is not None:
        return False
    on_chain = {segment.collective for segment in segments}
    return any(
        row["algorithm"].startswith("nccl ") and int(row["collective"]) in on_chain for row in run.rows(COLLECTIVES)
    )


def _what_would_help(
    run: Records, tables: Tables | None, segments: tuple[Segment, ...], *, whole: bool
) -> tuple[WhatIf, ...]:
    """Return the changes that may help, those first that may help most; none without a chain or an end of its own."""
    if not segments or (whole and _is_cut_off(run.metadata)):
        return ()
    messages = None if tables is None else tables.messages
    metadata = run.metadata
    longer = 0 if tables is None else longer_ps(tables, segments, slowed_beside(metadata))
    found = what_ifs(
        _by_kind(segments),
        parts_of_messages(segments, messages),
        waited_for_others(segments, messages),
        Bounds.of(metadata, whole=whole),
        sum(segment.time_ps for segment in segments),
        replace(slowness_of(metadata), beside_ps=longer),
    )
    known, anew = has_accounts(messages), (ANEW,) if nccl_chose_by_lines(run, segments) else ()
    caveats = {FASTER_LINES: anew, **dict.fromkeys((FASTER_NPUS, NO_SLOW_NPUS, NO_DELAYS), (ORDER,))}
    rows = (each for each in found if known or each.change != FASTER_LINES)
    all_caveats = ((each, dict.fromkeys((*each.caveats, *caveats.get(each.change, ())))) for each in rows)
    return tuple(replace(each, caveats=tuple(words)) for each, words in all_caveats)


def _is_cut_off(metadata: RunDocument) -> bool:
    """Return whether something else than its programs ended a job, as others end one that plays for ever."""
    return (metadata.get("job") or {}).get("ended_by") in ENDED_BY


def _rows_of_subject(
    run: Records, messages: Columns | None, iteration: int | None, collective: int | None
) -> npt.NDArray[np.int64]:
    """Return the rows of the messages of what is explained: of a collective, of an iteration's collectives, or all."""
    if messages is None:
        return np.empty(0, dtype=np.int64)
    if collective is not None:
        return np.flatnonzero(messages["collective"] == collective)
    if iteration is None:
        return np.arange(len(messages["collective"]))
    numbers = [int(row["collective"]) for row in run.rows(COLLECTIVES) if int(row["iteration"]) == iteration]
    return np.flatnonzero(np.isin(messages["collective"], numbers))


def _missing(run: Records, untold: str, messages: Columns | None, remedy: str, *, whole: bool) -> tuple[str, ...]:
    """Return what can't be told; ``untold``: what the tables of programs say of it, ``remedy``: what to record.

    ``whole``: the whole run is explained, which alone has counters of ports.
    """
    stopped, what = stop_of(run.metadata), "flows" if is_of_flows(run) else "messages"
    found = [untold] if untold else []
    if stopped is not None:
        found.append(f"the rest of the run, which was stopped: {stopped}")
    if whole and _is_cut_off(run.metadata):
        remark = "what may help: the job's end isn't that of its programs"
        found.append(remark if is_of_flows(run) else f"{remark}; explain a pass of it (--iteration)")
    if messages is None:
        chain = "" if untold or is_of_flows(run) else "the chain, and "
        found.append(f"{chain}single {what}: run with --record flows")
    if remedy:
        found.append(f"what {what} waited for, and where: run with {remedy}")
    if whole and is_analytical(run):
        found.append(f"ports with losses, pauses, marks or long queues: run with {PACKETS_NEEDED}")
    return tuple(found)


def _subject(run: Records, iteration: int | None, collective: int | None) -> str:
    """Return what is explained."""
    if collective is not None:
        return f"collective {collective}"
    if iteration is not None:
        return f"iteration {iteration}"
    stopped = "" if stop_of(run.metadata) is None else ", which was stopped before its end"
    stopped = ", which never started" if never_started(run.metadata) else stopped
    return f"run {run.metadata['run_name']}{last_try(run.metadata)}{stopped}"


def _chain(tables: Tables | None, iteration: int | None, collective: int | None) -> tuple[Segment, ...]:
    """Return the links of the chain that determines the end; of the whole run none without tables that tell of it."""
    if collective is not None and tables is not None:
        return path_of_collective(tables, collective)
    if tables is None or (iteration is None and not tables.tell_chain):
        return ()
    return critical_path(tables, iteration)


def lost_signals_apart(segments: Sequence[Segment], messages: Columns | None) -> list[Segment]:
    """Return links of which signals have what they were lost for as a link of its own, as far as accounts tell it."""
    found: list[Segment] = []
    for each in segments:
        told = each.kind == SIGNAL and each.whole and messages is not None and has_accounts(messages)
        lost_ps = int(messages["lost_ps"][each.message]) if told and messages is not None else 0
        lost = [replace(each, kind=LOST_SIGNAL, end_ps=each.start_ps + lost_ps)] if lost_ps else []
        found += [*lost, replace(each, start_ps=each.start_ps + lost_ps)]
    return found


def _by_kind(segments: Sequence[Segment]) -> Counter[str]:
    """Return the time of the links that are no messages, by kind."""
    kinds = Counter[str]()
    for segment in segments:
        if segment.kind in KINDS:
            kinds[segment.kind] += segment.time_ps
    return kinds


def _by_protocol(segments: Sequence[Segment]) -> tuple[ChannelTime, ...]:
    """Return the time in channels of NCCL, by kind and protocol, the most first."""
    times = Counter[tuple[str, str]]()
    for segment in segments:
        if segment.protocol:
            times[segment.kind, segment.protocol] += segment.time_ps
    return tuple(ChannelTime(kind, protocol, ps) for (kind, protocol), ps in times.most_common())


def _names(run: Records) -> dict[int, str]:
    """Return the words for a collective: its layer, part and iteration, its kind and size."""
    several = run.metadata["passes"] > 1
    return {
        int(row["collective"]): " ".join(
            filter(None, (row["layer"], shown_part(run, row["part"]), row["kind"], row["algorithm"]))
        )
        + (f", pass {row['iteration']}" if several else "")
        for row in run.rows(COLLECTIVES)
    }


def _layers(run: Records) -> dict[int, str]:
    """Return the layer of each collective."""
    return {int(row["collective"]): row["layer"] for row in run.rows(COLLECTIVES)}


def _communications(
    segments: Sequence[Segment], tables: Tables, names: Mapping[int, str], layers: Mapping[int, str]
) -> tuple[Communication, ...]:
    """Return the time of each collective on the path, the most first."""
    times, counts = Counter[int](), Counter[int]()
    parts: dict[int, Counter[str]] = {}
    rows: dict[int, list[int]] = {}
    signals = None if tables.messages is None else Signals([tables.messages]).among(tables.messages)
    for segment in segments:
        if segment.kind != MESSAGE:
            continue
        times[segment.collective] += segment.time_ps
        is_signal = signals is not None and segment.message >= 0 and signals[segment.message]
        counts[segment.collective] += not is_signal
        found = parts.setdefault(segment.collective, Counter())
        if has_accounts(tables.messages) and segment.whole and segment.message >= 0:
            rows.setdefault(segment.collective, []).append(segment.message)
        else:
            found[WHOLE] += segment.time_ps
    for collective, messages in rows.items():
        sums = {name: int((tables.messages or {})[name][messages].sum()) for name in PARTS}
        parts[collective].update({name: ps for name, ps in sums.items() if ps})
    return tuple(
        Communication(
            number,
            names.get(number, f"collective {number}"),
            ps,
            counts[number],
            dict(_most(parts[number])),
            layers.get(number, ""),
        )
        for number, ps in times.most_common()
    )


def _most(found: Counter[str]) -> list[tuple[str, int]]:
    return [(name, ps) for name, ps in found.most_common() if ps]


def _distinct(
    messages: Columns, excess: npt.NDArray[np.int64], parts: Sequence[str], patterns: Mapping[int, int], top: int
) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield the rows that lost most, each with all rows that are like it but for who sends to whom, and when.

    Rows make up one line if they are alike, or if their collectives have the same of ``patterns`` and their messages
    the same size. At most ``top`` lines are begun, and each has at most ``top`` rows.
    """
    count = min(top * _MOST_ALIKE, len(excess))
    rows = np.argpartition(-excess, count - 1)[:count]
    rows = rows[np.lexsort((rows, -excess[rows]))]
    took = messages["end_ps"] - messages["start_ps"]
    table = np.stack([took, *(messages[name] for name in (*_ALIKE, *parts))], axis=1)
    seen: set[bytes] = set()
    lines = Counter[Hashable]()
    for row in rows.tolist():
        same = table[row].tobytes()
        pattern = patterns.get(int(messages["collective"][row]))
        line = same if pattern is None else (pattern, int(messages["bytes"][row]))
        if same in seen or lines[line] == top:
            continue
        if len(+lines) == top and not lines[line]:
            return
        seen.add(same)
        lines[line] += 1
        (alike,) = np.nonzero((table == table[row]).all(axis=1))
        yield row, alike


def _patterns(names: Mapping[int, str], layers: Mapping[int, str]) -> dict[int, int]:
    """Return a number for collectives of several layers that differ in the layers' numbers alone."""
    words = {number: words_but_for_number(layer, names[number]) for number, layer in layers.items()}
    places = {pattern: place for place, pattern in enumerate(words.values())}
    several = Counter((words[number][0], layer) for number, layer in layers.items())
    numbered = Counter(pattern for pattern, _ in several)
    return {number: places[pattern] for number, pattern in words.items() if numbered[pattern[0]] > 1}


def _with_data(messages: Columns | None, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the rows of messages that are no signals."""
    return rows if messages is None else rows[~Signals([messages]).among(messages)[rows]]


def _slowest(
    run: Records,
    messages: Columns | None,
    rows: npt.NDArray[np.int64],
    ways: tuple[Columns | None, Served],
    segments: Sequence[Segment],
    names: Mapping[int, str],
    top: int,
) -> tuple[Message, ...]:
    """Return the messages that lost most of those at ``rows``; ``ways``: their ports, and what they waited behind."""
    hops, served = ways
    if messages is None or not len(rows):
        return ()
    messages = {name: column[rows] for name, column in messages.items()}
    took, parts_of = messages["end_ps"] - messages["start_ps"], [*PARTS] if has_accounts(messages) else []
    alone = alone_ps(messages)
    known, excess = alone is not None, took if alone is None else took - alone
    critical = np.isin(rows, [segment.message for segment in segments if segment.message >= 0])
    unnamed = "flow" if is_of_flows(run) else "collective"
    found = []
    layers = _layers(run)
    for row, alike in _distinct(messages, excess, parts_of, _patterns(names, layers), top):
        cells = {name: int(column[row]) for name, column in messages.items()}
        parts = Counter({name: cells[name] for name in parts_of})
        number = cells["collective"]
        found.append(
            Message(
                cells["source"],
                cells["destination"],
                cells["bytes"],
                number,
                names.get(number, f"{unnamed} {number}"),
                cells["chunk"],
                cells["phase"],
                cells["start_ps"],
                int(took[row]),
                int(excess[row]) if known else None,
                dict(_most(parts)),
                () if hops is None else _path(hops, int(rows[row])),
                bool(critical[alike].any()),
                len(alike),
                served.others(rows[row : row + 1], _MOST_BEHIND),
                layers.get(number, ""),
            )
        )
    return tuple(found)


def _waits(run: Records, messages: Columns | None, hops: Columns | None, rows: npt.NDArray[np.int64]) -> Columns | None:
    """Return the ports on the way of messages at ``rows``, and what they waited; None if they were not recorded.

    RoCE's NICs keep packets in queue pairs, so the wait at a packet's first port is in its message's account alone.
    """
    if hops is None or messages is None:
        return None
    if len(rows) < len(messages["collective"]):
        kept = np.isin(hops["message"], rows)
        hops = {name: column[kept] for name, column in hops.items()}
    waited = np.sum([hops[name] for name in _WAITED], axis=0)
    if not is_analytical(run):
        at_nic = (messages["nic_queue_ps"] + messages["nic_paused_ps"])[hops["message"]]
        waited = np.where(hops["hop"] == 0, at_nic + hops["slowed_ps"], waited)
    return {"message": hops["message"], "port": hops["port"], "waited_ps": waited}


def _path(hops: Columns, message: int) -> tuple[tuple[str, int], ...]:
    first, last = np.searchsorted(hops["message"], [message, message + 1])  # in the order of messages, then of hops
    return tuple(zip(hops["port"][first:last].tolist(), hops["waited_ps"][first:last].tolist(), strict=True))


def _by_npu(segments: Sequence[Segment], top: int) -> tuple[tuple[int, int], ...]:
    times = Counter[int]()
    for segment in segments:
        times[segment.npu] += segment.time_ps
    return tuple(different(times.most_common(), top, lambda row: format_time(row[1])))


def _by_port(hops: Columns | None, top: int) -> tuple[tuple[str, int], ...]:
    if hops is None:
        return ()
    sums = Counter({port: int(hops["waited_ps"][rows].sum()) for port, rows in by_value(hops["port"])})
    return tuple(different(_most(sums), top, lambda row: format_time(row[1])))


def _congested(run: Records, top: int) -> tuple[Mapping[str, str | int], ...] | None:
    """Return ports with drops, losses, pauses, marks or a long queue, the worst first; None if nobody counted these."""
    if SWITCH not in run.metadata["files"] or is_analytical(run):
        return None
    order = ("dropped_frames", "lost_frames", "paused_ps", "marked_frames", "highest_queue_bytes")
    found: list[tuple[list[int], dict[str, str]]] = []
    for row in run.rows(SWITCH):
        counts = [int(row[name]) for name in order]
        if any(counts[:-1]) or counts[-1] * int(row["sent_frames"]) > _FEW_FRAMES * int(row["sent_bytes"]):
            found.append((counts, row))
    found.sort(key=lambda each: each[0], reverse=True)
    stopped = stopped_by(run, "paused", "a lane without further credit")
    rows: list[Mapping[str, str | int]] = [
        {"port": row["port"], "link_to": row["link_to"], "stopped": stopped, **dict(zip(order, counts, strict=True))}
        for counts, row in found
    ]
    return tuple(different(rows, top, port_words))
