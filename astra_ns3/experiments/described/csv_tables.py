"""The CSV files of a run: what a row is, and each column's unit and meaning.

A name in angle brackets stands for a number: ``network delay phase <k>``. Units are those of the cells; an empty cell
means that there is no such number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from astra_ns3.experiments.astra_sim_tables import BACKEND_END_TO_END, DETAILED, END_TO_END, UTILIZATION_SUFFIX
from astra_ns3.experiments.flow_tables import FLOW_COMPLETION, GOODPUT
from astra_ns3.experiments.forecasting.foreseen import EXPERTS, MEMORY
from astra_ns3.experiments.run_tables import COLLECTIVES, JOBS, NPUS, SWITCH

UTILIZATION = f"<run>{UTILIZATION_SUFFIX}"
"""The name of the file of utilisation, with a mark in the place of the run's name."""


class CsvColumn(NamedTuple):
    """A column of a CSV file: its name, the unit of its cells, and its meaning."""

    name: str
    unit: str
    words: str


class CsvTable(NamedTuple):
    """A CSV file: the attribute of a result that reads it, what a row is, and its columns."""

    attribute: str
    words: str
    columns: tuple[CsvColumn, ...]


_LAYER = (
    CsvColumn("layer name", "", "name of the layer"),
    CsvColumn("run name", "", "name of the run"),
)
_PASSES = {"fwd": "the forward pass", "wg": "the weight gradient", "ig": "the input gradient"}
_TIMES = {
    "compute": "computing of {}",
    "exposed comm": "time in which the NPU could only wait for the collective of {}, its update time included",
    "total comm": "from issue until the collective counted as done, summed over collectives of {}; may exceed the run",
}
_PERCENTILES = {
    "p50": "half of the delivered flows take no longer",
    "p95": "95% of the delivered flows take no longer",
    "p99": "99% of the delivered flows take no longer",
    "p999": "99.9% of the delivered flows take no longer",
    "max": "the slowest delivered flow",
}
_PARTS_OF_MEMORY = {
    "weights": "weights",
    "gradients": "gradients",
    "optimizer": "what the optimizer keeps",
    "activations": "activations kept for the backward pass",
    "recomputed": "activations computed again",
    "gathered": "weights gathered from other copies",
    "buckets": "gradients that are being sent",
    "ring": "keys and values that travel round a ring",
}

CSV_TABLES: Mapping[str, CsvTable] = {
    END_TO_END: CsvTable(
        "end_to_end",
        "A row per layer, of the reported NPU, summed over passes. The columns are ASTRA-sim's. `total exposed comm` "
        "is not the sum of the exposed columns: only layer 0's weight gradient has a part of the wait after the last "
        "pass. With a model they do add up: sending of gradients and of weights and the update stand with the weight "
        "gradient, and the row `pipeline` has messages of activations under `fwd`, of their gradients under `ig`. "
        "Other parts of a loop of your own, and messages between stages of a SimAI workload, have no column.",
        (
            *_LAYER,
            *(
                CsvColumn(f"{short} {what}", "us", words.format(name))
                for what, words in _TIMES.items()
                for short, name in _PASSES.items()
            ),
            CsvColumn("workload finished at", "us", "when the NPU was done; the same in all rows"),
            CsvColumn("total comp", "us", "computing of all layers; first row only"),
            CsvColumn("total exposed comm", "us", "finish less `total comp`; first row only"),
        ),
    ),
    DETAILED: CsvTable(
        "detailed",
        "A row per layer, of the reported NPU: means over the layer's chunks.",
        (
            *_LAYER,
            CsvColumn("queuing delay phase 0", "us", "from creation to the first queue: 0, unless a role is late"),
            CsvColumn("queuing delay phase <k>", "us", "waiting in the queue of phase k"),
            CsvColumn(
                "network delay phase <k>",
                "us",
                "a chunk's time in phase k less its endpoint and reduction delays, divided by its reception steps",
            ),
            CsvColumn(
                "avg chunk delay dimension <d>",
                "us",
                "from start to end of a phase in dimension d, counted from 1, mean over all layers; first row only",
            ),
        ),
    ),
    BACKEND_END_TO_END: CsvTable(
        "backend_end_to_end",
        "One row, of the reported NPU.",
        (
            CsvColumn("RunName", "", "name of the run"),
            CsvColumn("CommsTime", "us", "the finish, as ASTRA-sim has it"),
            CsvColumn("ComputeTime", "us", "computing"),
            CsvColumn("ExposedCommsTime", "us", "finish less computing"),
            CsvColumn("Cost", "", "always empty: no cost is modelled"),
            CsvColumn("TotalPayloadSize", "MiB", "sent by the NPU"),
            CsvColumn(
                "PayloadSize_Dim<d>", "MiB", "sent by the NPU in dimension d, counted from 0; -1 where there is none"
            ),
        ),
    ),
    UTILIZATION: CsvTable(
        "dimension_utilization",
        "A row per window of 10 us, of the reported NPU. The last, partial window is left out.",
        (
            CsvColumn(" time (us) ", "us", "end of the window; the blanks are ASTRA-sim's"),
            CsvColumn(
                "dim<d> util",
                "%",
                "share of the window in which the NPU's queue of the dimension held a chunk, waiting or running; dim1 "
                "is the first of run.json's `dimensions`, if groups split one",
            ),
        ),
    ),
    NPUS: CsvTable(
        "npus",
        "A row per NPU.",
        (
            CsvColumn("npu", "", "its number"),
            CsvColumn("finish_us", "us", "when it was done; empty if it was not"),
            CsvColumn("compute_us", "us", "computing; empty where it plays flows"),
            CsvColumn(
                "exposed_us",
                "us",
                "waiting; adds up with `compute_us` to the finish exactly; empty where it plays flows",
            ),
        ),
    ),
    COLLECTIVES: CsvTable(
        "collectives",
        "A row per collective, and per message of a training loop between two NPUs, in the order of first issues. A "
        "message is one chunk, of algorithm direct. It starts when it can leave, and ends when its receiver has it: "
        "a wait until the receiver asks for it is in its duration.",
        (
            CsvColumn("collective", "", "number in the order of the first issues, the same on every NPU"),
            CsvColumn("layer", "", "layer, as the training loop calls it"),
            CsvColumn("iteration", "", "training pass, from 0"),
            CsvColumn(
                "part",
                "",
                "forward (all of graphs), weight gradient, input gradient, or what else the loop calls it",
            ),
            CsvColumn("kind", "", "such as ALLREDUCE; POINTTOPOINT for a message"),
            CsvColumn(
                "algorithm",
                "",
                "such as ring; over several dimensions the algorithms of the first chunk's phases, joined by `_`; "
                "with `collectives: nccl` also protocol and channels, `nccl Ring Simple x16`",
            ),
            CsvColumn("group", "", "among whom, such as tensor"),
            CsvColumn("npus", "", "NPUs of one group"),
            CsvColumn("chunks", "", "chunks that it was cut in"),
            CsvColumn(
                "bytes",
                "B",
                "what each NPU brings; with counts, what the NPU brings that has most, its own share included",
            ),
            CsvColumn("start_us", "us", "when the first NPU of all groups issued it; when a message can leave"),
            CsvColumn(
                "end_us",
                "us",
                "when the last NPU of all groups had finished it, without the update time; empty: it hadn't",
            ),
            CsvColumn("duration_us", "us", "end less start, of all groups together"),
            CsvColumn(
                "group_duration_us",
                "us",
                "mean duration of its groups, each from its first issue to its last end; waits for a member or a slot "
                "are in it",
            ),
            CsvColumn("slowest_group_us", "us", "the longest of these durations"),
            CsvColumn("algorithm_bandwidth_gbytes_per_s", "10^9 B/s", "size over `group_duration_us`, as nccl-tests"),
            CsvColumn("bus_bandwidth_gbytes_per_s", "10^9 B/s", "what a link's rate compares with, as in nccl-tests"),
        ),
    ),
    SWITCH: CsvTable(
        "switches",
        "A row per port of the network, NICs first. Analytical backends have none; `flow` counts what was sent alone.",
        (
            CsvColumn("port", "", "`host3`, the NIC of host 3; `switch0:3`, port 3 of switch 0"),
            CsvColumn("link_to", "", "the node at the other end"),
            CsvColumn("sent_frames", "", "frames put on the line"),
            CsvColumn("sent_bytes", "B", "their bytes, with Ethernet header and FCS, without preamble and gap"),
            CsvColumn("dropped_frames", "", "frames that found no room in the buffer"),
            CsvColumn("dropped_bytes", "B", "their bytes"),
            CsvColumn("marked_frames", "", "frames given a congestion mark here"),
            CsvColumn(
                "highest_queue_bytes",
                "B",
                "most that ever waited, all priorities together; the frame on the line doesn't wait",
            ),
            CsvColumn("lost_frames", "", "frames lost on the link by its error rate"),
            CsvColumn("pauses", "", "times that a priority of this port was told to stop"),
            CsvColumn("paused_ps", "ps", "time in which any priority of the port was stopped"),
            CsvColumn("pause_frames", "", "pause frames sent by this port, to stop its neighbour and to let it go on"),
            CsvColumn("cut_frames", "", "frames that had been sent and were lost because the link went down"),
            CsvColumn("down_frames", "", "frames that had not been sent yet and were lost because the link went down"),
            CsvColumn("silent_frames", "", "frames lost on a link that was down before its ends noticed"),
        ),
    ),
    FLOW_COMPLETION: CsvTable(
        "flow_completion",
        "With a list of flows: a row for each decade of sizes, for each twentieth of 400 flows or more, and for all.",
        (
            CsvColumn("sizes", "", "`class`, `bin` or `all`"),
            CsvColumn("above_bytes", "B", "sizes above this"),
            CsvColumn("most_bytes", "B", "sizes up to this"),
            CsvColumn("flows", "", "delivered flows"),
            CsvColumn("bytes", "B", "delivered bytes"),
            *(CsvColumn(f"{name}_us", "us", f"completion time: {words}") for name, words in _PERCENTILES.items()),
            *(
                CsvColumn(f"slowdown_{name}", "", f"time over ideal time: {words}; empty if no ideal is known")
                for name, words in _PERCENTILES.items()
            ),
        ),
    ),
    GOODPUT: CsvTable(
        "goodput",
        "With a list of flows: a row per interval, at most some 500, that ends where flows start or are delivered. "
        "Data behind a lost or late packet count when the gap is filled, so with selective repeat or TCP a short "
        "interval may be above what the lines carry. Backends without packets know a flow only when it has ended: "
        "each flow counts at its mean rate.",
        (
            CsvColumn("from_us", "us", "begin of the interval"),
            CsvColumn("to_us", "us", "end of the interval"),
            CsvColumn("bytes", "B", "data that came in, in order; flows under way are counted"),
            CsvColumn("goodput_gbit_per_s", "10^9 bit/s", "these bytes over the time"),
        ),
    ),
    MEMORY: CsvTable(
        "memory",
        "With a model: what an NPU of each stage keeps at most in each step of its schedule, in an iteration.",
        (
            CsvColumn("stage", "", "stage of the pipeline, or `servers`"),
            CsvColumn("step", "", "place in its schedule"),
            CsvColumn("work", "", "`forward`, `backward`, `input` or `weight` (gradients by themselves), or `update`"),
            CsvColumn("chunk", "", "part of the model on the stage"),
            CsvColumn("micro_batch", "", "micro-batch"),
            CsvColumn("layer", "", "block of the model in which there is most"),
            CsvColumn("total_bytes", "B", "all of it"),
            *(CsvColumn(f"{name}_bytes", "B", words) for name, words in _PARTS_OF_MEMORY.items()),
        ),
    ),
    EXPERTS: CsvTable(
        "experts",
        "With a model whose experts aren't chosen alike: a row for each of their layers, for one micro-batch.",
        (
            CsvColumn("layer", "", "its name"),
            CsvColumn("places", "", "places that share its experts"),
            CsvColumn("rows", "", "rows of tokens that all places compute"),
            CsvColumn("most_rows", "", "rows of the busiest place"),
            CsvColumn("busiest_place", "", "which place that is"),
            CsvColumn("most_over_mean", "", "its rows over the mean"),
            CsvColumn("dropped", "", "choices of tokens above experts' capacities"),
        ),
    ),
    JOBS: CsvTable(
        "tenants_table",
        "With several jobs: a row per job.",
        (
            CsvColumn("job", "", "name"),
            CsvColumn("npus", "", "how many NPUs"),
            CsvColumn("start_us", "us", "when it started, in simulated time; empty: it never did"),
            CsvColumn("finish_us", "us", "when its last NPU was done, or it was stopped, in simulated time"),
            CsvColumn("duration_us", "us", "from start to finish, with tries that failed"),
            CsvColumn("compute_us", "us", "computing of the reported NPU in the last try; empty where it plays flows"),
            CsvColumn("exposed_us", "us", "waiting of the reported NPU in the last try; empty where it plays flows"),
            CsvColumn("passes", "", "passes that it has done; empty: it was stopped, and nobody counted"),
            CsvColumn(
                "ended_by",
                "",
                "`programs`: its own end; `others`: all others had ended; `time`: its `end`; `transport`: it gave up; "
                "`device`: one of it died; "
                "empty: nothing ended it",
            ),
            CsvColumn("arrival_us", "us", "when it arrived, of a job that arrives"),
            CsvColumn("waited_us", "us", "how long it waited for NPUs; empty: it never started"),
            CsvColumn("restarts", "", "how often it began again, of a job that may"),
            CsvColumn("last_try_us", "us", "when its last try began, from its start on, of a job that may begin again"),
            CsvColumn("resumed_passes", "", "how many passes its last try took from a checkpoint, of such a job"),
            CsvColumn(
                "which", "", "its NPUs in the order of its ranks, as `0-3 8`; empty: it arrived and never started"
            ),
        ),
    ),
}
"""By the name of the file."""


CSV_ASKED: Mapping[str, str] = {
    **dict.fromkeys((FLOW_COMPLETION, GOODPUT), "a workload that is a list of flows"),
    MEMORY: "a workload that is a model",
    EXPERTS: "a workload that is a model whose experts aren't chosen alike",
}
"""A CSV file that not every run has, and the workload that it takes."""


def explained_csv(file: str) -> str:
    """Return the words of a CSV file and of its columns, a line each."""
    table = CSV_TABLES[file]
    lines = [f"{column.name}{f' ({column.unit})' * bool(column.unit)}: {column.words}" for column in table.columns]
    return "\n".join([f"{file}: {table.words}", "", *lines])
