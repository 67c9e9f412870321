"""The numbers of a run that comparisons look at, by group: name -> (unit, number)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.records import STEPS
from astra_ns3.network.run_document import FlowSizesDocument
from astra_ns3.report.explanation.parts import PARTS
from astra_ns3.report.own_bytes import account_batches
from astra_ns3.report.records import (
    COLLECTIVES,
    END_TO_END,
    layers_of_other_parts,
    never_started,
    pass_words,
    ps_of,
    table_of,
)
from astra_ns3.report.tables import Records, is_of_flows
from astra_ns3.units import format_bytes

Quantities = dict[str, tuple[str, float]]

_PASSES = {"fwd": "forward", "ig": "input gradient", "wg": "weight gradient"}


def totals(run: Records) -> Quantities:
    """Finish, from the start; computing and waiting of the reported NPU, but of a list of flows, where nobody waits.

    A job that never started has none of these.
    """
    metadata = run.metadata
    if never_started(metadata):
        return {}
    times_ps = {"finish": metadata["finish_ps"]}
    if not is_of_flows(run):
        times_ps |= {"compute": metadata["compute_ps"], "exposed": metadata["exposed_ps"]}
    return {name: ("ps", time_ps) for name, time_ps in times_ps.items()}


def throughput(run: Records) -> Quantities | None:
    """Return what a model trains in an iteration and in a second; None for other runs, and those without an end."""
    found = run.metadata.get("throughput")
    if found is None:
        return None
    shown: Quantities = {"samples an iteration": ("", found["samples_per_iteration"])}
    if found["tokens_per_second"] is None:
        shown["samples a second"] = ("", found["samples_per_second"])
    else:
        shown["tokens a second"] = ("", round(found["tokens_per_second"]))
    if found["model_flop_utilisation"] is not None:
        shown["model FLOP utilisation in %"] = ("", 100 * found["model_flop_utilisation"])
    return shown


def layers(run: Records) -> Quantities:
    """Computing and waiting of the reported NPU by layer and pass, and what it waited besides."""
    found: Quantities = {}
    others = layers_of_other_parts(run)
    tails = {each["layer"]: 0 for each in run.metadata["exposed_by_layer"]}
    for each in run.metadata["exposed_by_layer"]:
        tails[each["layer"]] += each["exposed_ps"]
    for row in run.rows(END_TO_END):
        for short, name in _PASSES.items():
            compute_ps, exposed_ps = ps_of(row[f"{short} compute"]) or 0, ps_of(row[f"{short} exposed comm"]) or 0
            computing, waiting = pass_words(run, name)
            _add(found, f"{row['layer name']}, {f'{computing} compute'.lstrip()}", compute_ps)
            _add(found, f"{row['layer name']}, {f'{waiting} exposed'.lstrip()}", exposed_ps)
            tails[row["layer name"]] = tails.get(row["layer name"], 0) - exposed_ps
    _add(found, f"{STEPS}, exposed", tails.pop(STEPS, 0))
    for layer, tail_ps in tails.items():
        when = "in other parts or after the last pass" if layer in others else "after the last pass"
        _add(found, f"{layer}, exposed {when}", tail_ps)
    return found


def collectives(run: Records) -> Quantities:
    """For each kind of collective: how many ended, and their durations together; in each group the bandwidth of all.

    A collective of several groups counts with their mean duration; in older results from the first group to the last.

    Messages between two NPUs have no bandwidth: one may wait until its receiver asks for it.
    """
    durations: dict[tuple[str, str], list[int]] = defaultdict(list)
    of_groups: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for row in run.rows(COLLECTIVES):
        group_us = row.get("group_duration_us")  # of which older results have none
        duration_ps = ps_of(group_us or row["duration_us"])
        if duration_ps is not None:
            older = "" if "group_duration_us" in row else ", from the first group to the last"
            durations[row["kind"], older].append(duration_ps)
        if row["bus_bandwidth_gbytes_per_s"] and row["kind"] != CollectiveKind.POINT_TO_POINT:
            over = "waits for a slot included" if group_us else "from the first group to the last"
            group = ", ".join(filter(None, (row["kind"], row.get("group"), "mean bus bandwidth", over)))
            of_groups[group].append((float(row["bus_bandwidth_gbytes_per_s"]), duration_ps or 0))
    found: Quantities = {}
    for (kind, older), times in durations.items():
        found[f"{kind}, durations together{older}"] = ("ps", sum(times))
        found[f"{kind}, ended"] = ("", len(times))
    for group, ended in of_groups.items():
        sent = sum(rate * duration_ps for rate, duration_ps in ended)
        rate = round(sent / sum(duration_ps for _, duration_ps in ended), 6)
        found[group] = ("gbytes_per_s", rate)
    return found


def flows(run: Records) -> Quantities | None:
    """Deliveries, goodput, completion time and slowdown of all flows of a list; None for other runs."""
    if not is_of_flows(run):
        return None
    found_of = run.metadata["flows"]
    found: Quantities = {"delivered": ("", found_of["delivered"])}
    if found_of["goodput_bps"] is not None:
        found["goodput"] = ("bps", found_of["goodput_bps"])
    return found | (_of_sizes("", found_of["all"]) if found_of["all"] else {})


def flows_by_size(run: Records) -> Quantities | None:
    """Completion time and slowdown of a list of flows, by class of sizes; None for other runs."""
    if not is_of_flows(run):
        return None
    found: Quantities = {}
    for sizes in run.metadata["flows"]["sizes"]:
        found |= _of_sizes(f"up to {format_bytes(sizes['most_bytes'])}, ", sizes)
    return found


def _of_sizes(name: str, sizes: FlowSizesDocument) -> Quantities:
    found: Quantities = {f"{name}completion {percent}": ("ps", ps) for percent, ps in sizes["times_ps"].items()}
    for percent, slowdown in (sizes["slowdowns"] or {}).items():
        found[f"{name}slowdown {percent}"] = ("", slowdown)
    return found


def account_parts(run: Records) -> Quantities | None:
    """Return where all messages' time went, by part, without signals; None if the run has no accounts."""
    table = table_of(run, "accounts")
    if table is None:
        return None
    sums = dict.fromkeys(PARTS, 0)
    for batch in account_batches(run, [*PARTS]):
        for name in PARTS:
            sums[name] += int(batch[name].sum())
    return {PARTS[name]: ("ps", value) for name, value in sums.items()}


def counters(run: Records, of_network: str = "") -> Quantities:
    """Counts of what the run did; ``of_network`` follows the names of those that are the network's."""
    own = {name: run.metadata[name] for name in ("collectives", "collectives_ended", "chunks", "npus", "npus_done")}
    return _counts(own) | _counts(run.metadata["statistics"], of_network)


def counters_of_jobs(run: Records) -> Quantities:
    """Counts of what a job did, and by other names those of the network, which counts for all jobs together."""
    return counters(run, ", of the whole run (all jobs)")


def _counts(counts: Mapping[str, int | float | None], of_network: str = "") -> Quantities:
    return {
        name.removesuffix("_ps").replace("_", " ") + of_network: ("ps" if name.endswith("_ps") else "", value)
        for name, value in counts.items()
        if value is not None
    }


ACCOUNTS = "accounts"
COUNTERS = "counters"
GROUPS: Mapping[str, Callable[[Records], Quantities | None]] = {
    "totals": totals,
    "throughput": throughput,
    "layers": layers,
    "collectives": collectives,
    "flows": flows,
    "flows by size": flows_by_size,
    ACCOUNTS: account_parts,
    COUNTERS: counters,
}
"""None: the run has no such numbers."""
NOT_OF_ALL = ("throughput", "flows", "flows by size")
"""Groups that only runs of models have, or only those of a list of flows."""


def groups_for(a: Records, b: Records) -> Mapping[str, Callable[[Records], Quantities | None]]:
    """Return the groups for two runs, of which either may be a job among several."""
    of_job = any("job" in run.metadata for run in (a, b))
    return {**GROUPS, COUNTERS: counters_of_jobs} if of_job else GROUPS


def _add(found: Quantities, name: str, time_ps: int) -> None:
    found[name] = ("ps", found.get(name, ("ps", 0))[1] + time_ps)
