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
    message: str
    exit_status: int


class FloorDocument(TypedDict):
    """The least time that lines, or by its ``kind`` a chain, allow, and how much of it the run took."""

    time_ps: int
    kind: str
    where: str
    lines_ps: int
    chain_ps: int
    bytes: int
    bytes_per_ns: float
    share: float | None


class TenantDocument(TypedDict, total=False):
    """A tenant: its NPUs and start, what it plays; in run.json of all tenants its times, too.

    ``arrival_ps``: when it arrived, to wait for NPUs; then ``npus`` has none until it starts. ``restarts``: how often
    it has begun again, ``first_start_ps``: when it first began; ``start_ps`` and all else are the last try's. Before
    the run ``restart_after_ps`` and ``most_restarts`` say when it will, and how often at most.
    ``after``: the job whose end, or so many passes, its start follows. ``start_ps``: before the run it counts from
    there; of a run it is when it started, None: it didn't. ``end_ps``: when it is to be stopped.
    ``passes``: None: for ever. ``ended_by``: its programs, all others, a time or its transport; None: nothing did.
    ``traffic``: it is other traffic; ``started`` and ``delivered``: how many of its flows, ``slowdowns``:
    percentiles of all of them (None: not known). ``priority``: in which its messages travel, if it has one of its own.
    """

    name: str
    npus: list[int]
    start_ps: int | None
    arrival_ps: int
    restarts: int
    first_start_ps: int | None
    restart_after_ps: int
    most_restarts: int
    after: str
    after_passes: int
    end_ps: int
    dimensions: list[int]
    priority: int
    workload: str
    passes: int | None
    passes_done: int
    ended_by: str | None
    complete: bool
    finish_ps: int
    compute_ps: int
    exposed_ps: int
    traffic: bool
    started: int
    delivered: int
    slowdowns: Mapping[str, float] | None


def npus_of(tenant: TenantDocument) -> int:
    """Return how many NPUs a tenant has, or waits for."""
    return len(tenant["npus"]) or prod(tenant["dimensions"])


class WaitsDocument(TypedDict):
    """The waits of jobs that arrive: how many did, and how many started; the mean and the longest wait of these."""

    arrived: int
    started: int
    mean_ps: int
    longest_ps: int


class EventDocument(TypedDict, total=False):
    """A part of the network, by its ``name``, that is otherwise from a time on: those keys are there that change.

    ``event``: its number in the scenario's file, after which those ``drawn`` by rates are counted; ``link``, ``switch``
    or ``npu``: the number of the part. ``end_ps``:
    when all is as it was, None: never; ``every_ps`` and ``times``: how it comes again.
    """

    event: int
    name: str
    drawn: bool
    link: int
    switch: int
    npu: int
    start_ps: int
    end_ps: int | None
    every_ps: int
    times: int
    up: bool
    rate_bps: int
    delay_ps: int
    error_rate: float
    storm: bool
    ecn: dict[str, float]
    buffer_bytes: int
    pfc: dict[str, float]
    control: dict[str, JsonValue]
    still: bool
    slower: float


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
    group: str
    exposed_ps: int


class RoleDocument(TypedDict):
    """The exposed time of the NPU that stands for a role."""

    role: str
    npu: int
    groups: Sequence[ExposedDocument]


class FlowSizesDocument(TypedDict):
    """Delivered flows of a class of sizes: above ``above_bytes``, up to ``most_bytes``.

    ``times_ps``: percentiles of the time from start to delivery, by name, and the longest; ``slowdowns``: the same of
    that over the time alone on an idle network (None: not known). A percentile is the least value that so large a share
    of the flows doesn't exceed.
    """

    above_bytes: int
    most_bytes: int
    flows: int
    bytes: int
    times_ps: Mapping[str, int]
    slowdowns: Mapping[str, float] | None


class FlowsDocument(TypedDict):
    """Totals of a list of flows."""

    flows: int
    started: int
    delivered: int
    bytes: int
    delivered_bytes: int
    overlapping: int
    first_start_ps: int
    last_end_ps: int
    goodput_bps: int | None
    all: FlowSizesDocument | None
    sizes: Sequence[FlowSizesDocument]
    bins: Sequence[FlowSizesDocument]


StageDocument = Mapping[str, Any]  # a name, words, and the bytes of as many parts as memory has


class MemoryDocument(TypedDict):
    """Memory of a model's training."""

    capacity_bytes: int | None
    peak_bytes: int
    fits: bool | None
    stages: Sequence[StageDocument]


class ExpertsDocument(TypedDict):
    """How uneven the load of experts is."""

    layers: int
    worst_layer: str
    most_over_mean: float
    mean_over_layers: float
    rows: int
    dropped: int


class ThroughputDocument(TypedDict):
    """Samples, tokens and operations of a model in a second."""

    sample: str
    samples_per_iteration: int
    iteration_ps: int
    samples_per_second: float
    tokens_per_second: float | None
    dropped_share: float | None
    model_flops_per_iteration: int
    peak_flops_per_npu: int | None
    model_flop_utilisation: float | None


class ForeseenDocument(TypedDict, total=False):
    """Facts of a model's training that are known before it runs: its memory, and the network below it."""

    memory_by_stage: MemoryDocument
    experts: ExpertsDocument
    device_losses: Mapping[str, float]
    scale_up_efficiency_left_to_nccl: float
    network: FileDocument
    compute_scale: float


class RunDocument(ForeseenDocument, total=False):
    """All of run.json; which keys there are depends on the workload, the backend and how the run ended."""

    format: str
    format_version: int
    run_name: str
    complete: bool
    stopped: StopDocument | None
    finish_ps: int
    floor: FloorDocument | None
    job: TenantDocument
    jobs: Sequence[TenantDocument]
    waits: WaitsDocument | None
    npu_time_used: float | None
    scenario: str | None
    events: Sequence[EventDocument]
    recovery: FileDocument
    npus: int
    npus_done: int
    compute_ps: int
    exposed_ps: int
    exposed_by_layer: Sequence[ExposedDocument]
    exposed_by_group: Sequence[ExposedDocument]
    exposed_by_group_of_roles: Sequence[RoleDocument]
    collectives: int
    collectives_ended: int
    chunks: int
    flows: FlowsDocument
    throughput: ThroughputDocument
    statistics: Mapping[str, int | float]
    warnings: Sequence[str]
    compat: str
    num_queues_per_dimension: int
    backend: str
    seed: int
    passes: int
    report_npu: int
    comm_scale: float
    record: list[str]
    hook: bool
    limits: Mapping[str, int | float | None]
    compute_slowdown: FileDocument | None
    hook_result: Any  # what a user's hook returned
    workload: FileDocument
    system: FileDocument
    in_force: FileDocument | None
    npus_per_server: int
    started: str
    timing: Mapping[str, float]
    memory: Mapping[str, int]
    versions: Mapping[str, str]
    files: Sequence[str]
    digests: Mapping[str, str]
    digest: str


SeedsDocument = dict[str, Any]  # run.json of several seeds: a table of their runs' own numbers


def chosen(document: Mapping[str, Any], names: Iterable[str]) -> JsonObject:  # any of the documents above
    """Return those of ``names`` that run.json has, with their values, in the order of ``names``."""
    return {name: document[name] for name in names if name in document}
