"""The typed form of run.json: what writes a key and what reads it go by the same type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, TypedDict

from pydantic import JsonValue

from astra_ns3.config.core.plain import JsonObject

FileDocument = Mapping[str, Any]  # keys of a user's file: as many forms as there are loops, models and topologies


class StopDocument(TypedDict):
    """Why a run stopped early."""

    kind: str
    """The kind of the error."""
    message: str
    """The error's message."""
    exit_status: int
    """The exit status."""


class FloorDocument(TypedDict):
    """The least time that lines, or by its ``kind`` a chain, allow, and how much of it the run took."""

    time_ps: int
    """The least time that the run can take, from time 0; nothing is sent before the first job starts."""
    kind: str
    """The reason: `lines` for their bytes, or a `chain` of computations."""
    where: str
    """Which lines, or which chain."""
    lines_ps: int
    """Time at which the lines can be done at the earliest, whatever the kind of the floor."""
    chain_ps: int
    """The longest chain of computations; 0: there is none."""
    bytes: int
    """Bytes that cross these lines."""
    bytes_per_ns: float
    """The rate of these lines, on average until the bytes are across."""
    share: float | None
    """The finish over the floor, at best 1; summaries print the inverse as `speed`, 80% for 1.25. Below 1 the result is
    one that no network with these lines reaches."""
    twice_ps: int
    """Time at which lines with twice the rates could be done."""


class SpentDocument(TypedDict, total=False):
    """The times that an NPU computed and waited; empty where it plays flows."""

    compute_ps: int
    exposed_ps: int


class TenantDocument(TypedDict, total=False):
    """A tenant: its NPUs and start, what it plays; in run.json of all tenants its times, too.

    ``arrival_ps``: when it arrived, to wait for NPUs; then ``npus`` has none until it starts. ``restarts``: how often
    it has begun again, ``last_try_ps``: from its start to that of the last try, whose computing and waiting is told.
    ``restart_after_ps`` and ``most_restarts``: when it would, and how often at most.
    ``after``: the job whose end, or so many passes, its start follows. ``start_ps``: before the run it counts from
    there; of a run it is when it started, None: it didn't. ``end_ps``: when it is to be stopped.
    ``passes``: None: for ever. ``ended_by``: its programs, all others, a time or its transport; None: nothing did.
    ``traffic``: it is other traffic; ``started`` and ``delivered``: how many of its flows, ``slowdowns``:
    percentiles of all of them (None: not known). ``priority``: in which its messages travel, if it has one of its own.
    """

    name: str
    """The job's name."""
    npus: list[int]
    """The NPU of each of its ranks."""
    start_ps: int | None
    """When it started; null: it never did."""
    arrival_ps: int
    """When it arrived, of a job that arrives."""
    restarts: int
    """How often it began again, of a job that may."""
    last_try_ps: int
    """Time from its start to that of its last try, of a job that may begin again. Tables count from that try's start,
    and tell of it alone, and so do computing, waiting and throughput."""
    resumed_passes: int
    """How many passes its last try took from a checkpoint, of such a job."""
    restart_after_ps: int
    """Time from a failure to the next try, as the file has it."""
    fails_ps: list[int]
    """When a device of it dies, as the file has it."""
    most_restarts: int
    """How often it may begin again, as the file has it."""
    after: str
    """The job that its start waited for, if the file names one."""
    after_passes: int
    """The passes of that job, if the file names some."""
    end_ps: int
    """When it is to be stopped, if the file says so."""
    dimensions: list[int]
    """Its logical grid."""
    priority: int
    """The RoCE priority of its messages, if the file names one."""
    workload: str
    """Its workload's file."""
    passes: int | None
    """Passes that it was asked for; null: for ever."""
    passes_done: int | None
    """Passes that it has done; null: it was stopped, and nobody counted."""
    ended_by: str | None
    """The reason of its end, as in jobs.csv; null: nothing did."""
    complete: bool
    """Whether it came to its end, or to the end that was asked for."""
    finish_ps: int
    """When its last NPU was done, from its start, with the time of tries that failed; 0: it never started."""
    compute_ps: int
    """Computing of its reported NPU; left out where it plays flows."""
    exposed_ps: int
    """Waiting of its reported NPU; left out where it plays flows."""
    traffic: bool
    """Whether it is other traffic."""
    started: int
    """Flows that started, of other traffic."""
    delivered: int
    """Flows that were delivered, of other traffic."""
    slowdowns: Mapping[str, float] | None
    """Percentiles of the slowdown of its flows, of other traffic; null: not known."""


def npus_of(tenant: TenantDocument) -> int:
    """Return how many NPUs a tenant has, or waits for."""
    return len(tenant["npus"]) or prod(tenant["dimensions"])


class WaitsDocument(TypedDict):
    """The waits of jobs that arrive: how many did, and how many started; the mean and the longest wait of these."""

    arrived: int
    """Jobs that arrived."""
    started: int
    """Jobs that arrived and started."""
    mean_ps: int
    """Their mean wait."""
    longest_ps: int
    """Their longest wait."""


class EventDocument(TypedDict, total=False):
    """A part of the network, by its ``name``, that is otherwise from a time on: those keys are there that change.

    ``event``: its number in the scenario's file, after which those ``drawn`` by rates are counted; ``link``, ``switch``
    or ``npu``: the number of the part. ``end_ps``:
    when all is as it was, None: never; ``every_ps`` and ``times``: how it comes again.
    """

    event: int
    """Its number in the scenario's file."""
    name: str
    """Name of the part."""
    drawn: bool
    """Whether it was drawn by rates."""
    link: int
    """Number of the link."""
    switch: int
    """Number of the switch."""
    npu: int
    """Number of the NPU."""
    start_ps: int
    """When it begins."""
    end_ps: int | None
    """When all is as before; null: never."""
    every_ps: int
    """Time after which it comes again."""
    times: int
    """How often it comes."""
    up: bool
    """Whether the part is up."""
    rate_bps: int
    """Its rate then."""
    delay_ps: int
    """Its delay then."""
    error_rate: float
    """Its error rate then."""
    storm: bool
    """Whether the NIC stops its switch."""
    ecn: dict[str, float]
    """The switch's marking thresholds then."""
    buffer_bytes: int
    """The switch's buffer then."""
    pfc: dict[str, float]
    """The switch's thresholds of pauses then."""
    control: dict[str, JsonValue]
    """The numbers of the NPU's congestion control then."""
    still: bool
    """Whether the NPU stands still."""
    slower: float
    """How many times as long the NPU's computations take."""


class RowDocument(TypedDict):
    """NPUs that stand in one row of a picture: those of a server or of a rack."""

    name: str
    npus: Sequence[int]


class ScenarioDocument(TypedDict):
    """A scenario before it is played: who is where, and what happens when. ``scenario``: its file, if there is one."""

    scenario: str | None
    network: str
    npus: int
    hosts: int
    jobs: Sequence[TenantDocument]
    events: Sequence[EventDocument]
    recovery: FileDocument
    rows: Sequence[RowDocument]


class ExposedDocument(TypedDict, total=False):
    """The exposed time of a layer or of a group."""

    layer: str
    """The layer."""
    group: str
    """The group of NPUs."""
    exposed_ps: int
    """Time waited for it."""


class RoleDocument(TypedDict):
    """The exposed time of the NPU that stands for a role."""

    role: str
    """The role."""
    npu: int
    """The NPU that stands for it."""
    groups: Sequence[ExposedDocument]
    """Its exposed time by group."""


class FlowSizesDocument(TypedDict):
    """Delivered flows of a class of sizes: above ``above_bytes``, up to ``most_bytes``.

    ``times_ps``: percentiles of the time from start to delivery, by name, and the longest; ``slowdowns``: the same of
    that over the time alone on the network without events (None: not known). A percentile is the least value that so
    large a share of the flows doesn't exceed.
    """

    above_bytes: int
    """Sizes above this."""
    most_bytes: int
    """Sizes up to this."""
    flows: int
    """Delivered flows."""
    bytes: int
    """Their bytes."""
    times_ps: Mapping[str, int]
    """Percentiles of the time from start to delivery, as in flow_completion.csv."""
    slowdowns: Mapping[str, float] | None
    """Percentiles of the time over the ideal time; null: not known."""


class FlowsDocument(TypedDict):
    """Totals of a list of flows."""

    flows: int
    """Flows of the list."""
    started: int
    """Flows that started."""
    delivered: int
    """Flows that were delivered."""
    bytes: int
    """Bytes of all flows."""
    delivered_bytes: int
    """Bytes of delivered flows."""
    overlapping: int
    """Flows that may have waited until another between the same two NPUs was sent."""
    first_start_ps: int
    """The first start."""
    last_end_ps: int
    """The last delivery."""
    goodput_bps: int | None
    """Delivered bits over the time between both."""
    all: FlowSizesDocument | None
    """The percentiles of all flows."""
    sizes: Sequence[FlowSizesDocument]
    """The percentiles by class of size."""
    bins: Sequence[FlowSizesDocument]
    """The percentiles of each twentieth of the flows by size."""


StageDocument = Mapping[str, Any]  # a name, words, and the bytes of as many parts as memory has


class MemoryDocument(TypedDict):
    """Memory of a model's training."""

    capacity_bytes: int | None
    """Memory of an NPU."""
    peak_bytes: int
    """Memory that the fullest NPU needs."""
    fits: bool | None
    """Whether that fits; null: not known."""
    stages: Sequence[StageDocument]
    """For each stage the peak, when that is, and its parts."""


class ExpertsDocument(TypedDict):
    """How uneven the load of experts is."""

    layers: int
    """Layers whose experts aren't chosen alike."""
    worst_layer: str
    """The layer with the most uneven load."""
    most_over_mean: float
    """There, the busiest place's rows over the mean."""
    mean_over_layers: float
    """The mean of that ratio over layers."""
    rows: int
    """Rows of all layers."""
    dropped: int
    """Choices of tokens above capacities."""


class ThroughputDocument(TypedDict):
    """Samples, tokens and operations of a model in a second."""

    sample: str
    """The meaning of a sample, in a word."""
    samples_per_iteration: int
    """Samples of an iteration over all copies."""
    iteration_ps: int
    """The finish over passes; of a job that began again, the last try's time after loading over its passes."""
    samples_per_second: float
    """Samples in a second."""
    tokens_per_second: float | None
    """Tokens in a second; null where samples have no tokens."""
    dropped_share: float | None
    """Share of the tokens' choices of experts above capacities; null where experts are chosen alike."""
    model_flops_per_iteration: int
    """Three times the FLOPs of forward products, without what is computed again or dropped (PaLM, 2022, appendix B)."""
    peak_flops_per_npu: int | None
    """The device's peak for the datatype; null: not known, or a file gives the times."""
    model_flop_utilisation: float | None
    """Model FLOPs over NPUs x peak x time; null without a peak."""


class ForeseenDocument(TypedDict, total=False):
    """Facts of a model's training that are known before it runs: its memory, and the network below it."""

    memory_by_stage: MemoryDocument
    """Memory of a model."""
    experts: ExpertsDocument
    """Load of a model's experts, if they aren't chosen alike."""
    device_losses: Mapping[str, float]
    """The losses of a model's device: `launch_overhead_ps` of each operation, `scale_up_efficiency` of lines inside
    nodes, and `overlap_slowdown` of computing beside collectives."""
    scale_up_efficiency_left_to_nccl: float
    """The device's share of the lines inside nodes where NCCL plays the collectives: the lines keep their rate, and
    NCCL's channels lose the rest."""
    network: FileDocument
    """The network as it was run, defaults written out, with the rates inside nodes that a model's device reaches."""
    compute_scale: float
    """The option `--compute-scale`."""


class RunDocument(ForeseenDocument, total=False):
    """All of run.json; which keys there are depends on the workload, the backend and how the run ended."""

    format: str
    """The kind of the file."""
    format_version: int
    """The version of that form."""
    run_name: str
    """The run's name."""
    complete: bool
    """Whether all NPUs, or jobs, came to their end."""
    stopped: StopDocument | None
    """Why not; null: they did."""
    finish_ps: int
    """When the last NPU or job was done; in a stopped run, the simulated time reached."""
    floor: FloorDocument | None
    """The least time that the run or job can take, by its own bytes and computations; a job's floor names NPUs by the
    network's numbers. Null for a run or job that was stopped or began again, for a run with such a job, and for a
    backend of your own."""
    job: TenantDocument
    """The job, in the folder of one of several."""
    jobs: Sequence[TenantDocument]
    """The jobs, of a run of several."""
    waits: WaitsDocument | None
    """Waits of jobs that arrive; null: none arrives. With several jobs alone."""
    npu_time_used: float | None
    """Share of the time of all NPUs in which jobs had them. With several jobs alone."""
    scenario: str | None
    """The scenario's file; null: there is none. With several jobs alone."""
    scenario_keys: FileDocument | None
    """The file's keys that aren't at their defaults, with `--set`; null: there is no file. With several jobs alone."""
    events: Sequence[EventDocument]
    """The effect of each event on each part. With several jobs alone."""
    recovery: FileDocument
    """The policies of recovery in force, with all their keys. With several jobs alone."""
    npus: int
    """NPUs of the run."""
    npus_done: int
    """NPUs that came to their end."""
    compute_ps: int
    """Computing of the reported NPU; left out for a list of flows."""
    exposed_ps: int
    """Waiting of the reported NPU; left out for a list of flows."""
    exposed_by_layer: Sequence[ExposedDocument]
    """That waiting by layer first waited for, while collectives of others may go on. It includes the time after the
    last pass, what a stopped run still waited for, and `steps of the training loop`, the ticks of `--compat`. Adds up
    to `exposed_ps` exactly."""
    exposed_by_group: Sequence[ExposedDocument]
    """The same by group of NPUs, the longest first."""
    exposed_by_group_of_roles: Sequence[RoleDocument]
    """The same of an NPU of each role, where there are several."""
    collectives: int
    """Collectives that were issued. In loops and models, one that several groups play beside each other counts once; in
    graphs, each group's counts."""
    collectives_ended: int
    """Collectives that ended."""
    chunks: int
    """Chunks of all collectives."""
    flows: FlowsDocument
    """Totals of a list of flows."""
    throughput: ThroughputDocument
    """Throughput of a model whose run came to its end, unless a scale other than 1 changed it."""
    statistics: Mapping[str, int | float]
    """Totals of the network: the table of statistics."""
    warnings: Sequence[str]
    """Warnings, as they were printed."""
    compat: str
    """Whose rules held, those that the network file brought included."""
    num_queues_per_dimension: int
    """Queues of each dimension, as they were run."""
    backend: str
    """The option `--backend`."""
    seed: int
    """The option `--seed`."""
    passes: int
    """The option `--passes`. For a job that plays for ever, the passes that it has done, at least 1."""
    report_npu: int
    """The option `--report-npu`."""
    comm_scale: float
    """The option `--comm-scale`."""
    record: list[str]
    """The option `--record`."""
    hook: bool
    """Whether there was a hook."""
    limits: Mapping[str, int | float | None]
    """The limits that were given."""
    asked: FileDocument
    """The files, and the options of `run` that aren't at their defaults and have no key of their own. Null: given as an
    object; a network stands whole. Jobs have it in the folder of their scenario."""
    compute_slowdown: FileDocument | None
    """The file of `--compute-slowdown`, with what collectives take on a model's device; null: nothing is slowed."""
    hook_result: Any  # what a user's hook returned
    """The answer of the hook's end function, if it is JSON."""
    workload: FileDocument
    """The workload as it was run, after scaling."""
    system: FileDocument
    """The system as it was run, defaults written out."""
    in_force: FileDocument | None
    """Numbers that the network file leaves open: all of `tcp` and `roce`, `ecn` thresholds by rate, `credits` by
    switch, and the congestion control's under `control`. Null on an analytical network."""
    npus_per_server: int
    """Where NCCL plays collectives: so many NPUs, in the order of their numbers, share a server."""
    dimensions: Sequence[str]
    """Where groups split a dimension of the network: which of the network's each dimension of the run's tables is."""
    input_files: Mapping[str, str]
    """SHA-256 of each graph, trace, list of flows, table, schedule and own code that the files name, by file name;
    more than 16 traces have one together. Absent: none. Jobs have it in their folders."""
    started: str
    """When the run began."""
    timing: Mapping[str, float]
    """Seconds: set-up, simulation, Python callbacks."""
    memory: Mapping[str, int]
    """Bytes of memory that the run took."""
    versions: Mapping[str, str]
    """Versions of this program, ns-3, Python and what else takes part."""
    files: Sequence[str]
    """Names of the run's files."""
    digests: Mapping[str, str]
    """SHA-256 of each of these files."""
    digest: str
    """SHA-256 of all of run.json before this key. Commands look at digests only where reading fails, to name the
    damaged file."""


SeedsDocument = dict[str, Any]  # run.json of several seeds: a table of their runs' own numbers


class ForecastDocument(TypedDict, total=False):
    """The size of a run to come."""

    collectives: int
    """Collectives, and messages from one NPU to another."""
    launches: int
    """How often an NPU starts a phase of a chunk."""
    messages: int
    """Messages of all NPUs."""
    bytes: int
    """Bytes of all messages."""
    packets: int
    """Packets with data; left out where messages travel by formula."""
    connections: int
    """TCP connections; left out without packets."""
    queue_pairs: int
    """RoCE queue pairs; left out without packets."""
    wall_seconds: float
    """CPU time on one core."""
    memory_bytes: int
    """Highest resident memory."""
    not_counted: Sequence[str]
    """Parts of the run that aren't counted, in words; left out if all are."""
    may_not_come: Sequence[str]
    """Parts that are counted and may not come, in words; left out if all come."""


def chosen(document: Mapping[str, Any], names: Iterable[str]) -> JsonObject:  # any of the documents above
    """Return those of ``names`` that run.json has, with their values, in the order of ``names``."""
    return {name: document[name] for name in names if name in document}
