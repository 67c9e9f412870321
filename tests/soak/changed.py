"""Relations of networks that events change before the first packet, or after the last, with networks of files.

Random jobs begin at one time. Until then events change lines, switches and NPUs; the same run has all of that in its
files. Or events change what nobody uses any more, or last until before the jobs begin.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.scenario.file import EventConfig
from astra_ns3.config.topology.switch import EcnConfig
from astra_ns3.network.backends import ABILITIES
from astra_ns3.network.graph_outline import port_outline
from astra_ns3.network.plan import plan_network
from astra_ns3.scenario.events import Event, changes_of
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph
from astra_ns3.transport.lossless import largest_wire_bytes, port_headroom_bytes
from astra_ns3.units import PS_PER_MS, parse_bytes, parse_rate, parse_time_ps
from soak.case import Case, network_document, write_files
from soak.cases import built, random_case
from soak.draw import Draw
from soak.jobs import Drawn
from soak.relations import SHARE, Found, apart, played
from soak.requests import SYSTEM_OF_FLOWS, list_text
from soak.scenarios import KIND, scenario_of

_START_PS = 20 * PS_PER_MS
"""When jobs begin: routes have followed all events, and hellos have found them."""
_TRIES = 8
"""Draws of a change that changes something."""
_HEADROOM_BYTES, _PORTS = 200_000, 64
"""Of each port and priority of a switch, and the most ports of one."""
_LATE_PS = 10**6 * PS_PER_MS
_COUNTS = ("messages", "packets", "retransmissions", "dropped_frames", "marked_frames", "pauses")
_STAYS = ("keeps", "keep the window", "with the longest delays that events give", "switches measure utilisation")
"""Words of warnings that numbers stay those of the lines at first."""
_ALIKE = 1.25
"""Numbers in proportion to a round trip may differ by so much without a warning, and so may windows and times."""
_TIES = 1.05
"""Of times in whole steps, packets that come together go in an order that changes of lines may change."""
_EVENLY = "flows share lines evenly, not in the order of their bytes"
"""Words of the warning that flows are played otherwise where ways change, be it for a ns."""
_FACTORS = (0.1, 0.5, 0.73, 1.37, 2, 2, 5, 5)


def changed_before(seed: int, folder: Path) -> Found:
    """A network changed by events before the first packet is the network with the same in its file."""
    draw, case = Draw(f"changed before {seed}"), _case(seed)
    if case is None:
        return None
    if draw.chance(0.1) or "rate_bps" not in ABILITIES[case.job["backend"]].heeds:
        return _slower_npus(draw, case, folder)
    write_files(case, folder)
    document = network_document(case, folder)
    for switch in _groups(document["topology"], "buffer") if draw.chance(0.6) else ():
        _give_room(switch)
    first, events = parse_network(document), list[Drawn]()
    job = {key: each for key, each in case.job.items() if key != "traffic"}  # whose load is a share of the file's lines
    case = replace(case, job=job)
    for _ in range(_TRIES):
        now = _changed(draw, case, document, folder)
        events = [*_events(draw, build_graph(first.topology), build_graph(now.topology))]
        if events:
            break
    if build_graph(first.topology).local != build_graph(now.topology).local:  # inside a host, where no event reaches
        return None
    if not events or _headroom(first, events) != _headroom(now, []):
        return None
    one, other = _played(folder, (case, first, events), (case, now, []))
    if any(words in warning for warning in one["warnings"] for words in _STAYS):
        return None
    alike = _of_lines(one) != _of_lines(other) or "hpcc-pint" in case.document()
    ties = _TIES if "time_rounding" in case.document() else 1.0
    return _different(case, one, other, _ALIKE if alike else ties)


def restored_before(seed: int, folder: Path) -> Found:
    """Events that are over before the first packet change nothing."""
    return _nothing_changes(seed, folder, {})


def changed_after(seed: int, folder: Path) -> Found:
    """Events that come after the last byte change nothing."""
    return _nothing_changes(seed, folder, {"at": f"{_LATE_PS}ps"})


def _nothing_changes(seed: int, folder: Path, when: Drawn) -> Found:
    draw, case = Draw(f"nothing changes {seed} {when}"), _case(seed)
    if case is None:
        return None
    write_files(case, folder)
    network = parse_network(network_document(case, folder))
    graph = build_graph(network.topology)
    events = [{**_passing(draw, case, graph), **when} for _ in range(draw.randint(1, 3))]
    if _headroom(network, events) != _headroom(network, []):
        return None
    one, other = _played(folder, (case, network, events), (case, network, []))
    return _different(case, one, other)


def _case(seed: int) -> Case | None:
    """Return a scenario whose jobs begin at one time, without events; None if the seed has none without a compiler."""
    draw = Draw(f"changed {seed}")
    case = replace(random_case(seed, draw.pick(0.0, 1.0)), cores=1, record=(), look=False)
    if not case.network or ".hpp" in case.document() or case.job["kind"] == "collective":
        return None
    job: Drawn = {"kind": KIND, "backend": draw.weighted({"ns3": 4, "flow": 2, "analytical": 1})}
    job["options"] = {"isolated": False}
    if case.job["kind"] == KIND:
        names = ("system", "jobs", "arrivals", "recovery", "traffic")
        job |= {key: case.job[key] for key in names if key in case.job}
        job["jobs"] = [{key: each for key, each in own.items() if key != "restart"} for own in job["jobs"]]
    else:
        job |= _as_job(case)
    later = f"{_START_PS}ps"
    for each in (*job["jobs"], *job.get("traffic", ()), *job.get("arrivals", {}).get("rows", ())):
        each["time" if "time" in each else "start"] = later
    network = {key: value for key, value in case.network.items() if key != "observe"}
    return replace(case, network=network, job=job)


def _as_job(case: Case) -> Drawn:
    """Return the keys of a scenario whose only job is the run of a case."""
    config, _ = built(dict(case.network), dict(case.files))
    own: Drawn = {"name": "job", "npus": list(range(config.npus)), "dimensions": list(config.dimensions)}
    if case.job["kind"] == "flows":
        rows = [[*row[:3], 0, *row[4:]] for row in case.job["flows"]]
        return {"system": SYSTEM_OF_FLOWS, "jobs": [{**own, "dimensions": [config.npus], "text": list_text(rows)}]}
    options = dict(case.job["options"])
    own |= {"text": case.job["text"], "passes": options.pop("passes", 1)}
    options["comm_scale"] = SHARE * options["comm_scale"]
    return {"system": case.job["system"], "jobs": [own], "options": {**options, "isolated": False}}


def _give_room(switch: Drawn) -> None:
    """Have the file say the headroom of a switch, which else is that of the fastest and longest lines ever."""
    pfc = switch.get("pfc")
    if pfc is not None and "headroom" not in pfc:
        pfc |= {"headroom": _HEADROOM_BYTES}
        pfc.pop("headroom_factor", None)
        switch["buffer"] = parse_bytes(switch["buffer"]) + _PORTS * len(pfc.get("priorities", "3")) * _HEADROOM_BYTES


def _changed(draw: Draw, case: Case, document: Drawn, folder: Path) -> NetworkConfig:
    """Return the network with some lines, or the memory of some switches, otherwise in its file."""
    document = copy.deepcopy(document)
    if "path" in case.network["topology"]:
        path = Path(document["topology"]["path"])
        document["topology"]["path"] = str(path.with_stem("changed"))
        Path(document["topology"]["path"]).write_text(_changed_graph(draw, path), encoding="utf-8")
        return parse_network(document)
    document["topology"] = parse_network(document).document()["topology"]
    of_switches = case.job["backend"] == "ns3" and draw.chance(0.3)
    _change(draw, [*_groups(document["topology"], "cut_through" if of_switches else "rate")])
    return parse_network(document)


def _changed_graph(draw: Draw, path: Path) -> str:
    """Return the text of a graph's file with some lines otherwise."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        graph = json.loads(text)
        _change(draw, graph["links"])
        return json.dumps(graph)
    rows = [row.split() for row in text.splitlines()]
    links = [{"rate": rate, "delay": delay, "error_rate": error} for _, _, rate, delay, error in rows[2:]]
    _change(draw, links)
    changed = [[*row[:2], *(str(each) for each in link.values())] for row, link in zip(rows[2:], links, strict=True)]
    return "\n".join(" ".join(row) for row in [*rows[:2], *changed]) + "\n"


def _groups(value: Any, key: str) -> Iterator[Drawn]:
    """Yield each line, or each switch, of a topology or graph: what has a rate and a delay, or a threshold."""
    if isinstance(value, dict) and key in value and ("delay" in value or key != "rate") and "piece" not in value:
        yield value
        return
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _groups(each, key)


def _change(draw: Draw, groups: list[Drawn]) -> None:
    """Change one group, or all, in place; one number of each, or two of a line."""
    if not groups:
        return
    factor, longer_ps, share = draw.pick(*_FACTORS), draw.between(1, 20_000_000), draw.pick(0.0, 1e-4)
    names, more = draw.pick(("rate",), ("delay",), ("rate", "delay"), ("error_rate",)), draw.pick(1.5, 3)
    for group in groups if draw.chance(0.4) else [draw.pick(*groups)]:
        if "cut_through" in group:
            _change_switch(draw, group, more)
            continue
        if "rate" in names and group["rate"] is not None:
            group["rate"] = f"{max(1, int(factor * parse_rate(group['rate'])))}bps"
        if "delay" in names and group["delay"] is not None:
            before_ps = parse_time_ps(group["delay"])
            group["delay"] = f"{longer_ps + before_ps if factor > 1 else min(longer_ps, before_ps)}ps"
        if "error_rate" in names and group.get("error_rate") is not None:
            group["error_rate"] = share


def _change_switch(draw: Draw, switch: Drawn, more: float) -> None:
    switch["buffer"] = int(more * switch["buffer"])
    if isinstance(switch["ecn"], dict):
        switch["ecn"] |= {"kmin": switch["ecn"]["kmin"] // 2, "pmax": 0.5}
    if isinstance(switch["pfc"], dict):
        switch["pfc"] |= draw.some(0.5, alpha=0.5, reserve=8192, resume_offset=1000)


def _events(draw: Draw, before: Graph, after: Graph) -> Iterator[Drawn]:
    """Yield events that make one network the other; none if events can't."""
    ends = [(link.a, link.b) for link in before.links]
    if ends != [(link.a, link.b) for link in after.links]:
        return
    switches = list(_events_of_switches(draw, before, after))
    if None in switches:
        return
    yield from (each for each in switches if each is not None)
    for number, (old, new) in enumerate(zip(before.links, after.links, strict=True)):
        at = f"{draw.pick(0, draw.randrange(_START_PS))}ps"
        if old.rate_bps != new.rate_bps:
            yield {"at": at, "link": number, "rate": f"{new.rate_bps}bps"}
        if old.delay_ps != new.delay_ps:
            yield {"at": at, "link": number, "delay": f"{new.delay_ps}ps"}
        if old.error_rate != new.error_rate:
            yield {"at": at, "link": number, "error-rate": new.error_rate}


def _events_of_switches(draw: Draw, before: Graph, after: Graph) -> Iterator[Drawn | None]:
    """Yield an event of each switch that is otherwise, None if none can."""
    for number, (old, new) in enumerate(zip(before.switch_configs, after.switch_configs, strict=True)):
        event: Drawn = {"at": f"{draw.pick(0, draw.randrange(_START_PS))}ps", "switch": number}
        made = old
        if old.buffer_bytes != new.buffer_bytes:
            event["buffer"] = new.buffer_bytes
            made = made.model_copy(update={"buffer_bytes": new.buffer_bytes})
        if old.ecn != new.ecn and isinstance(new.ecn, EcnConfig):
            event["ecn"] = {"kmin": new.ecn.kmin_bytes, "kmax": new.ecn.kmax_bytes, "pmax": new.ecn.pmax}
            made = made.model_copy(update={"ecn": new.ecn})
        if old.pfc != new.pfc and new.pfc is not None:
            keys = {"alpha": new.pfc.alpha, "reserve": new.pfc.reserve_bytes}
            event["pfc"] = {**keys, "resume_offset": new.pfc.resume_offset_bytes}
            made = made.model_copy(update={"pfc": new.pfc})
        if made != new:
            yield None
        elif len(event) > 2:
            yield event


def _passing(draw: Draw, case: Case, graph: Graph) -> Drawn:
    """Return an event that is over before the jobs begin."""
    npu, heeds = draw.randrange(len(graph.npu_host)), ABILITIES[case.job["backend"]].heeds
    length_ps = draw.between(1, _START_PS // 4)
    made: Drawn = {"at": f"{draw.pick(0, draw.randrange(_START_PS // 4))}ps", "for": f"{length_ps}ps"}
    made |= {"every": f"{length_ps + 10**6}ps", "times": 2} if draw.chance(0.3) else {}
    if "rate_bps" not in heeds or draw.chance(0.1):
        return {**made, "npu": npu, **draw.pick({"slower": 3}, {"still": True})}
    parts: list[Drawn] = [{"link": draw.randrange(len(graph.links))}, {"nic": npu}]
    states: list[Drawn] = [{"rate": f"{draw.randint(5, 150)}%"}, {"delay": f"{draw.between(1, 20_000)}ns"}]
    states += [{"up": False}] * 2
    if "error_rate" in heeds:
        states.append({"error-rate": 0.01})
    if graph.switches and draw.chance(0.2):
        return {**made, "switch": draw.randrange(graph.switches), "up": False}
    return {**made, **draw.pick(*parts), **draw.pick(*states)}


def _slower_npus(draw: Draw, case: Case, folder: Path) -> Found:
    """An NPU that an event slows down from the start, and one that a file does."""
    jobs = [job for job in case.job["jobs"] if not job["text"].startswith("source")]
    if not jobs:
        return None
    job = draw.pick(*jobs)
    write_files(case, folder)
    network = parse_network(network_document(case, folder))
    npus = job.get("npus") or list(range(network.npus))
    rank, factor = draw.randrange(len(npus)), draw.pick(0.5, 2, 10)
    table = folder / "slow.yaml"
    table.write_text(json.dumps({"stragglers": [{"npus": [rank], "factor": factor}]}), encoding="utf-8")
    event = {"at": f"{draw.pick(0, draw.randrange(_START_PS))}ps", "npu": npus[rank], "slower": factor}
    own = {**job, "compute-slowdown": str(table)}
    other = replace(case, job={**case.job, "jobs": [own if each is job else each for each in case.job["jobs"]]})
    one, two = _played(folder, (case, network, [event]), (other, network, []))
    return _different(case, one, two)


def _headroom(network: NetworkConfig, events: list[Drawn]) -> list[int | None]:
    """Return the bytes that pauses of each end of each link leave room for, None where the file has them."""
    found = [Event(EventConfig.model_validate(event), "event") for event in events]
    plan = plan_network(network, changes=lambda graph: changes_of(found, graph))
    largest, hosts = largest_wire_bytes(plan.transports.values()), plan.graph.hosts
    return [
        None if pfc is None or pfc.headroom_bytes is not None else port_headroom_bytes(pfc, port_outline(link), largest)
        for link in plan.graph.links
        for end in (link.a, link.b)
        for pfc in [plan.graph.switch_configs[end - hosts].pfc if end >= hosts else None]
    ]


def _played(folder: Path, *runs: tuple[Case, NetworkConfig, list[Drawn]]) -> tuple[Drawn, ...]:
    """Play cases, each on a network with events; a case behind one with flows that share evenly has them do so, too."""
    results: list[Drawn] = []
    for number, (case, network, events) in enumerate(runs):
        own = folder / str(number)
        own.mkdir()
        write_files(case, own)
        if any(_EVENLY in warning for result in results for warning in result["warnings"]):
            events = [{"at": "0ps", "for": "1ns", "link": 0, "up": False}]
        request = scenario_of(replace(case, job={**case.job, "events": events}), own)
        results.append({**played(replace(request, network=network)), "events": events})
    return tuple(results)


def _of_lines(result: Drawn) -> Drawn:
    """Return the numbers that the program chose for lines, other than by their rates."""
    found = result["in_force"]
    thresholds = [[row["kmin_bytes"], row["kmax_bytes"], row["pmax"]] for row in found["ecn"]] if found else []
    return {**(found or {}), "ecn": thresholds}


def _different(case: Case, one: Drawn, other: Drawn, factor: float = 1.0) -> list[str]:
    """Return which times are apart by more than a factor, and which counts differ where it is 1."""
    what = f"on {case.job['backend']}, events {one['events']}, warnings {one['warnings']}"
    ends = {job["name"]: job["finish_ps"] for job in other["jobs"]}
    found = [line for job in one["jobs"] for line in apart(job["name"], job["finish_ps"], ends[job["name"]], factor)]
    counted = [{name: result["statistics"].get(name) for name in _COUNTS} for result in (one, other)]
    found += [f"counts: {counted}"] if factor == 1.0 and counted[0] != counted[1] else []
    return [*found, what] if found else []
