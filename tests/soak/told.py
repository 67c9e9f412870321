"""Whether figures that commands print are true, each found a second way: ``python -m soak.told``.

Random runs of users' kinds are explained, reported, compared, forecast, studied and planned. Each printed bound stands
beside a run with the change, which is made in the files by hand; other figures beside closed forms or other tables.
"""

from __future__ import annotations

import logging
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from html import unescape
from itertools import count
from pathlib import Path
from typing import Any

import click
from oracles.collective_volumes import TOTAL_SENT

from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.explaining import explain
from astra_ns3.experiments.metadata import usual_options
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.validate import validate
from astra_ns3.playing.training.model_summary import summary_of
from astra_ns3.report.comparison.compare import compare
from astra_ns3.report.explanation.what_ifs import ANEW, FASTER_LINES
from astra_ns3.report.page.page import report_page
from astra_ns3.report.validation import validation_text
from astra_ns3.report.workload.model import model_document, model_text
from astra_ns3.workload.files.workload_formats import read_workload
from astra_ns3.workload.models.workload import ModelWorkload
from soak.draw import Draw
from soak.told_choices import budgeted, listed, planned, studied
from soak.users import (
    CHANGES,
    DIGITS,
    TIMES,
    USUAL,
    Asked,
    Faults,
    Told,
    asked,
    bytes_of,
    near,
    ps_of,
    samples_of,
    share_of,
)

PHYSICAL = ("ns3", "flow")
"""Backends on which messages share lines."""
EXCESS = 0.005
"""Of a run's time, that a change may save more than ``at most``: docs/explain.md has 0.4%."""
CAVEAT = 0.05
"""The same of a row that holds on a condition, which words behind it name."""
SECONDS = 2.0
"""A run that is forecast to take longer is played as flows."""
TOLD_EVERY = 25
PLAYED = 0.3
"""The share of runs that are explained with ``--play``."""
KINDS = {
    "ALLREDUCE": "all_reduce",
    "ALLGATHER": "all_gather",
    "REDUCESCATTER": "reduce_scatter",
    "ALLTOALL": "all_to_all",
}
WHAT_IF = re.compile(r"^  (\S.*?)  +(\d+\.\d)% (less|more) time  \((\S+) (\S+)\)")


def summary(told: Told) -> Faults:
    """The table at the end: shares, groups, the floor, work per second by counts and time."""
    metadata, rows = told.metadata, told.summary
    finish_ps, floor = metadata["finish_ps"], metadata["floor"]
    whole_ps = metadata["compute_ps"] + metadata["exposed_ps"]
    for name, part_ps in (("compute", metadata["compute_ps"]), ("exposed communication", metadata["exposed_ps"])):
        if whole_ps and not near(share_of(rows[name]), 100 * part_ps / whole_ps, 0.051):
            yield f"{name}: '{rows[name]}', by run.json {part_ps} of {whole_ps} ps"
    for by in ("group", "layer"):
        summed_ps = sum(each["exposed_ps"] for each in metadata[f"exposed_by_{by}"])
        if summed_ps != metadata["exposed_ps"]:
            yield f"exposed by {by} adds up to {summed_ps} ps, not {metadata['exposed_ps']}"
    if metadata["backend"] in PHYSICAL and floor and finish_ps < floor["time_ps"]:
        yield f"finish {finish_ps} ps lies below the floor {floor}"
    if floor and "speed" in rows and not near(share_of(rows["speed"]), 100 * floor["time_ps"] / finish_ps, 0.51):
        yield f"speed '{rows['speed']}', by run.json {floor['time_ps']} of {finish_ps} ps"
    yield from _npus(told)
    yield from _per_second(told)


def _npus(told: Told) -> Faults:
    finish_us, rows = told.metadata["finish_ps"] / 1e6, told.result.rows("npus.csv")
    if abs(max(float(row["finish_us"]) for row in rows) - finish_us) > 1e-6:
        yield f"no NPU of npus.csv finishes with the run at {finish_us} us"
    for row in rows:
        if abs(float(row["finish_us"]) - float(row["compute_us"]) - float(row["exposed_us"])) > 2e-6:
            yield f"NPU {row['npu']} neither computes nor waits for a while: {row}"


def _per_second(told: Told) -> Faults:
    work, metadata = told.asked.work, told.metadata
    if isinstance(work, str) or not told.trains_transformer or "throughput" not in metadata:
        return
    samples, seconds = samples_of(work, metadata["npus"]), metadata["finish_ps"] / 1e12 / metadata["passes"]
    tokens = float(told.summary["tokens a second"].split()[0].replace(",", ""))
    if not near(tokens, samples * work["training"]["sequence"] / seconds):
        yield f"tokens a second {tokens}, expected {samples} samples in {seconds} s"
    used = told.summary.get("model FLOP utilisation")
    if used is not None:
        peak = metadata["throughput"]["peak_flops_per_npu"] * metadata["npus"] * seconds
        true = 100 * samples * metadata["workload"]["flops_per_sample"] / peak
        if not near(share_of(used), true, 0.051):
            yield f"model FLOP utilisation {used}, expected {true:.3f}%"


def explanation(told: Told) -> Faults:
    """The chain's parts add up; each change saves no more than ``at most``, and what ``--play`` says."""
    found, finish_ps = explain(told.result), told.metadata["finish_ps"]
    pass_ps = explain(told.result, iteration=0)
    if sum(pass_ps.kinds.values()) + sum(each.time_ps for each in pass_ps.communications) != pass_ps.time_ps:
        yield "the chain of pass 0 doesn't add up"
    chain_ps = sum(found.kinds.values()) + sum(each.time_ps for each in found.communications)
    if chain_ps != finish_ps:
        yield f"the chain adds up to {chain_ps} ps of {finish_ps}"
    for each in found.communications:
        if sum(each.parts.values()) != each.time_ps:
            yield f"the parts of {each.name} add up to {sum(each.parts.values())} ps, not {each.time_ps}"
    if sum(ps for _, ps in explain(told.result, top=1000).npus) != finish_ps:
        yield "times of NPUs on the chain don't add up"
    rows = [match for match in map(WHAT_IF.match, found.text().splitlines()) if match]
    saved = {}
    for match in rows:
        words, most_ps = match[1], ps_of(match[4], match[5])
        if not near(float(match[2]), 100 * most_ps / finish_ps, 0.1):
            yield f"'{match[0]}' is no share of {finish_ps} ps"
        if words not in CHANGES:
            continue
        changed = told.faster if words == FASTER_LINES else told.changed(words)
        saved[words] = finish_ps - changed.finish_ps
        excess = CAVEAT if match[0] != match.string else EXCESS
        holds = ANEW not in match.string or _choices(changed) == _choices(told.result)
        if holds and not told.loses and saved[words] > most_ps + excess * finish_ps:
            yield f"{words}: saves {saved[words] / finish_ps:.1%}, told '{match[0].strip()}'"
    if FASTER_LINES not in saved and not found.remedy and not told.loses:
        saved[FASTER_LINES] = finish_ps - told.faster.finish_ps
        if saved[FASTER_LINES] > EXCESS * finish_ps:
            yield f"no row {FASTER_LINES}, which saves {saved[FASTER_LINES] / finish_ps:.1%}"
    if told.draw.chance(PLAYED):
        yield from _played(told, saved)


def _choices(result: Result) -> list[tuple[str, str]]:
    """Return each collective's algorithm, of NCCL with its protocol and channels."""
    return [(row["collective"], row["algorithm"]) for row in result.rows("collectives.csv")]


def _played(told: Told, saved: Mapping[str, int]) -> Faults:
    text = explain(told.result, play=True).text().partition("what else may help")[0]
    for match in filter(None, map(WHAT_IF.match, text.splitlines())):
        ps = ps_of(match[4], match[5]) * (1 if match[3] == "less" else -1)
        if match[1] in saved and not near(ps, saved[match[1]]):
            yield f"--play: '{match[0].strip()}', by hand {saved[match[1]]} ps"


def comparison(told: Told) -> Faults:
    """The rows of ``compare`` have the numbers of both run.json."""
    after: Mapping[str, Any] = told.faster.metadata
    text = compare(told.result, told.faster).text()
    for name, key in (("finish", "finish_ps"), ("compute", "compute_ps"), ("exposed", "exposed_ps")):
        a, b = told.metadata[key], after[key]
        line = next((line for line in text.splitlines() if re.match(rf"  {name}  +\d", line)), "")
        shown = [ps_of(*each) for each in TIMES.findall(line)]
        if (a != b) != bool(line) or (line and not all(map(near, shown, (a, b, abs(b - a))))):
            yield f"'{line.strip()}', by run.json {a} and {b} ps"
        if line and a and not near(share_of(line), 100 * abs(b - a) / a, 0.051):
            yield f"'{line.strip()}' has a wrong share"


def page(told: Told) -> Faults:
    """The cards of ``report`` have the numbers of run.json."""
    html = report_page([told.result], usual_options())
    cards = dict(re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)(?:<small>|</dd>)", html))
    metadata = told.metadata
    times = {"finish": "finish_ps", "compute": "compute_ps", "exposed communication": "exposed_ps"}
    for name, key in times.items():
        found = TIMES.search(unescape(cards[name]))
        if not near(ps_of(*found.groups()) if found else 0, metadata[key]):
            yield f"{name} {cards[name]}, by run.json {metadata[key]} ps"
    counts = {"messages": metadata["statistics"]["messages"], "collectives": metadata["collectives"]}
    for name, number in counts.items():
        if cards[name] != f"{number:,}":
            yield f"{name} {cards[name]}, by run.json {number}"


def forecast(told: Told) -> Faults:
    """What ``validate`` prints is what the run then counts."""
    rows = told.folder / "base"
    keys = {key: value for key, value in told.asked.options.items() if key != "passes"}
    options = Options(passes=told.metadata["passes"], **keys)
    found = validate(next(rows.glob("workload.*")), rows / "system.yaml", rows / "network.yaml", options)
    text = validation_text(found.document())
    statistics, flows = told.metadata["statistics"], told.result.flows
    if "not counted" in text or "may not come" in text:
        return
    true = {"collectives": told.metadata["collectives"], "messages": statistics["messages"]}
    if told.metadata["backend"] == "ns3" and told.asked.network["transport"]["kind"] == "roce" and not told.loses:
        true["packets"] = statistics["packets"]
    for name, number in true.items():
        shown = re.search(rf"^{name} +([\d,]+)", text, re.M)
        if shown is None or int(shown[1].replace(",", "")) != number:
            yield f"{name} {shown and shown[1]}, the run has {number}"
    rounded = statistics["messages"] if "themisFlex" in str(told.asked.system) else 0  # dimensions in another order
    if abs(found.forecast.bytes - int(flows["bytes"].sum())) > rounded:
        yield f"{found.forecast.bytes} bytes, the run sends {int(flows['bytes'].sum())}"
    memory = "memory of an NPU"
    if memory in told.summary and told.summary[memory] not in text:
        yield f"validate and the run differ in {memory}: {told.summary[memory]}"


def shown(told: Told) -> Faults:
    """What ``show workload`` prints of a model: an NPU of the run sends as much, and computes as long or longer."""
    if isinstance(told.asked.work, str) or told.metadata["comm_scale"] != 1 or told.metadata["compute_scale"] != 1:
        return
    path = told.folder / "base" / "workload.yaml"
    dimensions = parse_network(told.asked.network).dimensions
    model = read_workload(path)
    assert isinstance(model, ModelWorkload)
    text = model_text(model_document(summary_of(model, dimensions)))
    sent = sum(bytes_of(*each) for each in re.findall(r"([\d.]+) (\w*B) sent", text))
    flows, passes = told.result.flows, told.metadata["passes"]
    own = int(flows.groupby("source")["bytes"].sum().max()) / passes if len(flows) else 0  # trees send unevenly
    alike = (
        "zipf" not in str(told.asked.work)
        and re.search(r"pipeline 1\b", text)
        and "servers" not in str(told.asked.work)
    )
    names = {name for key, names in told.asked.system.items() if key.endswith("-implementation") for name in names}
    least = names and names <= {"ring", "direct"} and len(dimensions) == 1
    if alike and (own < 0.99 * sent - 4096 or (least and own > 1.01 * sent + 4096)):
        yield f"an NPU sends {sent} bytes, in the run {own}: {text}"
    count_of = sum(row["kind"] == "POINTTOPOINT" for row in told.result.rows("collectives.csv")) / passes
    messages = re.search(r"; ([\d,]+) of all", text)
    if int(messages[1].replace(",", "")) != count_of if messages else count_of:
        yield f"messages {messages and messages[0]}, in the run {count_of} an iteration"
    computes = [ps_of(*each) for each in TIMES.findall((re.search(r"^compute .*", text, re.M) or [""])[0])]
    most_ps = max(float(row["compute_us"]) for row in told.result.rows("npus.csv")) * 1e6 / passes
    if computes and most_ps < max(computes) * (1 - DIGITS):
        yield f"NPUs compute for up to {max(computes)} ps, in the run for {most_ps} ps an iteration"


def _bandwidths(row: Mapping[str, str]) -> Faults:
    """As nccl-tests has them: each NPU's part of an exchange's bytes, over the time, and times what a line carries."""
    ranks, us = int(row["npus"]), float(row["group_duration_us"])
    if row["kind"] not in KINDS or not us:
        return
    size = int(row["bytes"]) * (ranks if row["kind"] == "ALLGATHER" else 1)
    factor = (ranks - 1) / ranks * (2 if row["kind"] == "ALLREDUCE" else 1)
    for name, true in (("algorithm", size / us / 1e3), ("bus", factor * size / us / 1e3)):
        if not near(float(row[f"{name}_bandwidth_gbytes_per_s"]), true, 2e-6):
            yield f"{name} bandwidth of {dict(row)}, expected {true}"


def volumes(told: Told) -> Faults:
    """Bytes of messages are those of the collectives by closed form, and of hosts' ports with headers and answers."""
    flows = told.result.flows
    for row in told.result.rows("collectives.csv"):
        number, ranks = int(row["collective"]), int(row["npus"])
        share = TOTAL_SENT.get((KINDS.get(row["kind"], ""), row["algorithm"]))
        own = flows[flows["collective"] == number]
        uneven = row["kind"] == "ALLTOALL" and own.groupby("source")["bytes"].sum().nunique() > 1
        if share is None or not row["end_us"] or own.empty or uneven:
            continue
        yield from _bandwidths(row)
        sent, groups = int(own["bytes"].sum()), range(1, told.metadata["npus"] // ranks + 1)
        expected = float(share(ranks) * int(row["bytes"]))
        if not any(near(sent, expected * times, 64 * ranks * ranks) for times in groups):
            yield f"collective {number} ({row['kind']} {row['algorithm']}) sends {sent} bytes, expected {expected}"
    roce = (told.metadata.get("in_force") or {}).get("roce")
    is_usual = told.asked.network["topology"]["kind"] in USUAL  # on others, hosts may forward
    if told.metadata["backend"] != "ns3" or told.loses or roce is None or not is_usual:
        return
    ports = {row["port"]: int(row["sent_bytes"]) for row in told.result.rows("switch.csv")}
    found, statistics = (
        sum(size for port, size in ports.items() if port.startswith("host")),
        told.metadata["statistics"],
    )
    most = max(roce["minimum_frame_bytes"], roce["ack_bytes"] + roce["ack_telemetry_bytes"])
    most += max(roce["minimum_frame_bytes"], roce["header_bytes"] + roce["telemetry_bytes"])
    most = int(flows["bytes"].sum()) + statistics["packets"] * most + statistics["cnps"] * roce["cnp_bytes"]
    per_host = told.asked.network["topology"].get("npus_per_host", 1)
    if found > most or (per_host == 1 and found < int(flows["bytes"].sum())):
        yield f"hosts' ports send {found} bytes, messages have {int(flows['bytes'].sum())}, all frames at most {most}"


CHECKS: Mapping[str, Callable[[Told], Faults]] = {
    "summary": summary,
    "explain": explanation,
    "compare": comparison,
    "report": page,
    "validate": forecast,
    "volumes": volumes,
    "show": shown,
    "study": studied,
    "plan": planned,
    "budget": budgeted,
    "flows": listed,
}
SOMETIMES = {"study": 0.2, "plan": 0.4, "budget": 0.1, "flows": 0.3}
"""Shares of runs with which the dearer checks are made."""


def told_of(seed: int, folder: Path) -> tuple[str, list[str]] | None:
    """Return the kind of a random run and what is told of it wrongly; None if the run is refused, or doesn't end."""
    made = asked(seed)
    try:
        result = _base(made, folder)
    except AstraNs3Error:
        return None
    if result is None:
        return None
    told = Told(made, result, folder, Draw(f"told more {seed}"))
    found = []
    for name, check in CHECKS.items():
        if told.draw.chance(SOMETIMES.get(name, 1)):
            try:
                found += [f"{name}: {fault}" for fault in check(told)]
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                found.append(f"{name}: {type(error).__name__} at {where.name}:{where.lineno}: {error}")
    work = "loop" if isinstance(made.work, str) else made.work["kind"]
    return f"{work}, {result.metadata['backend']}", found


def _base(made: Asked, folder: Path) -> Result | None:
    """Play the run, as flows if packets would take long; None if flows would, too."""
    base = folder / "base"
    request = made.request(base)
    files = request.workload, request.system, request.network
    if validate(*files, Options(**made.options)).forecast.warm_seconds > SECONDS:
        made.options["backend"] = "flow"
        if validate(*files, Options(**made.options)).forecast.warm_seconds > SECONDS:
            return None
    backend = made.options["backend"]
    record = ("timeline", "flows", "accounts") if backend in PHYSICAL else ("timeline", "flows")
    return made.play(base, output=folder / "out", record=record)


@click.command()
@click.option("--first", default=1, help="The first seed.")
@click.option("--runs", default=300, help="How many runs.")
def main(first: int, runs: int) -> None:
    """Check what is printed of random runs. Exit status 1 if a figure of one of them is wrong."""
    logging.disable(logging.WARNING)
    played, faulty = 0, 0
    kinds: Counter[str] = Counter()
    for seed in count(first):
        if played == runs:
            break
        with tempfile.TemporaryDirectory(prefix="astra-ns3-told-") as name:
            found = told_of(seed, Path(name))
        if found is None:
            continue
        kind, faults = found
        played, faulty = played + 1, faulty + bool(faults)
        kinds[kind] += 1
        for fault in faults:
            click.echo(f"seed {seed} ({kind}): FAULT {fault}")
        if played % TOLD_EVERY == 0:
            click.echo(f"{played} runs up to seed {seed}, {faulty} with faults")
    click.echo(f"{played} runs up to seed {seed - 1}, {faulty} with faults")
    for kind, number in kinds.most_common():
        click.echo(f"  {number} {kind}")
    sys.exit(1 if faulty else 0)


if __name__ == "__main__":
    main()
