"""Tables of integers that a run may stream while it goes on, described as plain data, and who takes their rows.

A table is described once, here: the native session is asked for the columns that it is made of, by their names
(``record-rows.h``), and the file, its documentation and :class:`~astra_ns3.experiments.result.Result` follow. A backend
opens a table, hands over rows in batches, column by column, and never knows where they go: into files
(:mod:`astra_ns3.network.parquet`) or to another process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.network.instance import chunks_of, collectives_of, phases_of

Numbers = npt.NDArray[np.int64]
Columns = list[Numbers]
Labels = Mapping[tuple[int, ...], str]
"""The names of numbers, one of each recorded column."""


@dataclass(frozen=True)
class Column:
    """A column of a file: its name, Arrow's word for its type, its unit, and what it says.

    ``of``: the recorded columns that it is made of; none: that of its name. ``made``: makes it of that; None: as it is.
    ``labelled``: a text stands for the numbers, of which there are few; the type is that of its index. Texts that are
    not known when the table is opened come by :meth:`TableSink.label`.
    """

    name: str
    kind: str
    unit: str
    words: str
    of: tuple[str, ...] = ()
    made: Callable[[Numbers], npt.NDArray[np.int32]] | None = None
    labelled: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The recorded columns that it is made of."""
        return self.of or (self.name,)


@dataclass(frozen=True)
class RecordedTable:
    """A table in a file of its own: its name, what it says, and its columns.

    ``asked``: what a run needs that is to have it. ``labels``: of each labelled column, known when the table is opened.
    ``notes``: sentences for the reference, on how rows are meant.
    """

    name: str
    words: str
    asked: str
    columns: tuple[Column, ...]
    labels: Mapping[str, Labels] = field(default_factory=dict)
    notes: str = ""

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.name}.parquet"

    @property
    def recorded(self) -> tuple[str, ...]:
        """Names of the columns that are handed over, in this order."""
        return tuple(dict.fromkeys(source for column in self.columns for source in column.sources))

    def labelled(self, column: str, labels: Labels) -> RecordedTable:
        """The table with the texts of a column."""
        return replace(self, labels={**self.labels, column: labels})


def asked_record(word: str) -> str:
    """Return what asks for a table that ``record`` names."""
    return f"--record {word}, or record=['{word}'] in Python"


JOB = Column("job", "int8", "", "name of the job, in a run of a scenario alone", labelled=True)
"""The first column of each table of one of several jobs; its number is 0, which stands for the name."""


def of_job(table: RecordedTable, name: str) -> RecordedTable:
    """Return a table of the job ``name``: with the column :data:`JOB` in front."""
    return replace(table, columns=(JOB, *table.columns)).labelled(JOB.name, {(0,): name})


def _asked_observe(key: str) -> str:
    """Return what asks for a table of what is observed."""
    return f"observe.{key} in the network file"


_PAIR_COLUMNS = (
    Column("time_ps", "int64", "ps", "when"),
    Column("source", "int32", "", "NPU that sends"),
    Column("destination", "int32", "", "NPU that receives"),
    Column("quantity", "int8", "", "which quantity the value is", labelled=True),
    Column("value", "int64", "", "the number"),
)


def _port_columns(value: Column) -> tuple[Column, ...]:
    return (
        Column("time_ps", "int64", "ps", "when"),
        Column("port", "int32", "", "name of the port", of=("node", "port"), labelled=True),
        value,
    )


_MESSAGE_COLUMNS = (
    Column("source", "int32", "", "NPU that sends"),
    Column("destination", "int32", "", "NPU that receives"),
    Column("collective", "int32", "", "number of its collective", of=("instance",), made=collectives_of),
    Column("chunk", "int32", "", "number of its chunk", of=("instance",), made=chunks_of),
    Column("phase", "int32", "", "number of its phase", of=("instance",), made=phases_of),
    Column("row", "int32", "", "row of the schedule"),
    Column("bytes", "int64", "B", "size"),
    Column("start_ps", "int64", "ps", "when it was handed to the transport"),
    Column("end_ps", "int64", "ps", "when its last byte had arrived, or was acknowledged, as `completion` says"),
)
IDEAL = Column("ideal_ps", "int64", "ps", "time alone on the network without events; over TCP with packets: 0")
FLOWS = RecordedTable(
    "flows",
    'a row per message, if ``record`` had "flows"; raises InputError otherwise',
    asked_record("flows"),
    (*_MESSAGE_COLUMNS, IDEAL),
    notes=(
        "`ideal_ps` counts headers and `time_rounding`, on the fastest of the shortest paths of the network without "
        "events. It is a bound where packets take different ways, and beyond 64 ways with unlike lines: all equal "
        "ways together carry them, each step at its fastest line. An event that raises a rate lets a message take less."
    ),
)
PARTS = (
    Column("turn_ps", "int64", "ps", "waiting behind earlier messages of its queue pair or connection"),
    Column("window_ps", "int64", "ps", "RoCE: the window was closed"),
    Column("pacing_ps", "int64", "ps", "RoCE: held by its rate"),
    Column("nic_paused_ps", "int64", "ps", "the NIC's priority was stopped by PFC"),
    Column("nic_queue_ps", "int64", "ps", "waiting for the NIC's line behind others"),
    Column("transport_ps", "int64", "ps", "TCP: from its turn until the NIC had the deciding segment; RoCE: 0"),
    Column("lost_ps", "int64", "ps", "lost and sent again"),
    Column("switch_queue_ps", "int64", "ps", "waiting in switches behind others"),
    Column("switch_paused_ps", "int64", "ps", "waiting in switches while the priority was stopped"),
    Column(
        "serialisation_ps",
        "int64",
        "ps",
        "on a line: its own packets at a RoCE NIC, then the deciding packet at every port",
    ),
    Column("propagation_ps", "int64", "ps", "along a cable"),
    Column("acknowledgement_ps", "int64", "ps", "from the arrival to the acknowledgement that completes it; else 0"),
)
"""The parts of a message's time: from start to end each picosecond is in one of them."""
ACCOUNTS = RecordedTable(
    "accounts",
    'where the time of each message went, if ``record`` had "accounts"; raises InputError otherwise',
    asked_record("accounts"),
    (*_MESSAGE_COLUMNS, *PARTS, IDEAL),
    notes="The deciding packet is the one whose arrival completed the message.",
)
ACCOUNT_HOPS = RecordedTable(
    "account_hops",
    'the lines of every deciding packet, if ``record`` had "accounts"; raises InputError otherwise',
    asked_record("accounts"),
    (
        Column("message", "int64", "", "number of the message's row in accounts, from 0"),
        Column("hop", "int8", "", "number of the line, from 0, which is the NIC's"),
        Column("port", "int32", "", "name of the port that sends on it", of=("node", "port"), labelled=True),
        Column("arrival_ps", "int64", "ps", "when the packet had come to the port; at a RoCE NIC when it was made"),
        Column("queue_ps", "int64", "ps", "waiting there behind others"),
        Column("paused_ps", "int64", "ps", "waiting there while the priority was stopped"),
        Column("serialisation_ps", "int64", "ps", "on the line"),
        Column("propagation_ps", "int64", "ps", "along the cable"),
    ),
    notes="Flows have rows of the NIC, with all that a message takes alone, and of the other ports where it waited.",
)
ACCOUNT_SERVED = RecordedTable(
    "account_served",
    'what every deciding packet of RoCE waited behind, if ``record`` had "accounts"; raises InputError otherwise',
    asked_record("accounts"),
    (
        Column("message", "int64", "", "number of the message's row in accounts, from 0"),
        Column("hop", "int8", "", "number of the line where it waited, as in account_hops"),
        Column(
            "source",
            "int32",
            "",
            "NPU that sends the other message; -1: frames of no message, or all messages of the same job",
        ),
        Column("destination", "int32", "", "NPU that receives the other message; -1: as for the source"),
        Column(
            "collective",
            "int32",
            "",
            "number of the other's collective; -1: none, or all messages of the same job",
            of=("instance",),
            made=collectives_of,
        ),
        Column("chunk", "int32", "", "number of the other's chunk", of=("instance",), made=chunks_of),
        Column("phase", "int32", "", "number of the other's phase", of=("instance",), made=phases_of),
        Column("served_ps", "int64", "ps", "how long the line carried the other while the packet waited"),
    ),
)
SAME_JOB = -2
"""In place of an instance in account_served: all messages of the job whose message waited."""
OF_JOB = Column("of_job", "int32", "", "job of the other message; in a run of a scenario alone", labelled=True)
"""A column of account_served: source, destination and collective are numbers of that job."""
CONNECTION_QUANTITIES: Mapping[str, str] = {
    "congestion_window_bytes": "the congestion window, at each change",
    "rtt_ps": "the last round-trip sample, at each change",
    "retransmitted_bytes": "size of a segment sent again, headers not counted",
    "timeouts": "1 for each retransmission timeout, those of connection requests included",
}
"""Values of ``quantity`` in connections, and what the number is."""
QUEUE_PAIR_QUANTITIES: Mapping[str, str] = {
    "rate_bps": "rate at which packets may be sent, also while none are",
    "window_bytes": "most bytes in flight; 0: no limit",
    "alpha_millionths": "the control's estimate of congestion, times 10^6: alpha of `dcqcn` and `dctcp`, U of `hpcc` "
    "and `hpcc-pint`; of `timely` the mean change of the round trip over the minimum round trip, below 0 while queues "
    "shrink; of `swift` the last round trip over the target, so that the window shrinks from 1,000,000 on; 0 of `none` "
    "and `static-window`; what a control of your own gives",
    "retransmitted_bytes": "payload of a packet sent again",
    "cnps": "1 for each congestion notification that the sender got",
}
"""Values of ``quantity`` in queue_pairs, and what the number is."""
CONNECTIONS = RecordedTable(
    "connections",
    "what the network file asked to observe of TCP connections",
    _asked_observe("connections"),
    _PAIR_COLUMNS,
)
QUEUE_PAIRS = RecordedTable(
    "queue_pairs",
    "what the network file asked to observe of RoCE queue pairs",
    _asked_observe("queue_pairs"),
    (*_PAIR_COLUMNS, Column("queue_pair", "int16", "", "number among the queue pairs of these two NPUs, from 0")),
    notes="With a queue pair for each message all queue pairs of two NPUs stand under the names of these two.",
)
QUEUES = RecordedTable(
    "queues",
    "lengths of the queues that the network file asked to observe",
    _asked_observe("queues"),
    _port_columns(Column("queue_bytes", "int64", "B", "bytes that waited then, in all priorities")),
    notes="A row holds until the next row of its port. A port without a queue at any sampling instant has no row.",
)
PAUSES = RecordedTable(
    "pauses",
    "when ports were stopped by PFC and let go on",
    _asked_observe("pauses"),
    _port_columns(
        Column("paused_priorities", "int64", "", "sum of 2^priority over those that are stopped; 0: none is")
    ),
)
UTILISATION = RecordedTable(
    "utilisation",
    "bytes on the line of the observed ports in each interval",
    _asked_observe("utilisation"),
    _port_columns(
        Column("wire_bytes", "int64", "B", "put on the line in the interval that ends then, preamble and gap counted")
    ),
    notes=(
        "A frame counts to the interval in which its first bit is sent. The utilisation is the bytes times 8, "
        "over rate and interval."
    ),
)
OPERATIONS = RecordedTable(
    "operations",
    'what the program of every NPU did, if ``record`` had "timeline"; raises InputError otherwise',
    asked_record("timeline"),
    (
        Column("npu", "int32", "", "whose program it is"),
        Column(
            "kind",
            "int8",
            "",
            "compute, wait, issue, send, receive, work (of a graph) or step (a tick of --compat)",
            labelled=True,
        ),
        Column("layer", "int32", "", "what the training loop calls it: its layer", labelled=True),
        Column("iteration", "int32", "", "its training pass, from 0"),
        Column("part", "int32", "", "its part of the layer's work", labelled=True),
        Column("collective", "int32", "", "number of what was issued or waited for; -1: none"),
        Column("start_ps", "int64", "ps", "when it began"),
        Column("end_ps", "int64", "ps", "when the program went on"),
    ),
    notes=(
        "Computing, waiting and steps of an NPU follow each other without a gap from 0 to its finish. A graph "
        "has no program that waits for one thing: while its device does not compute, an NPU waits for "
        "whatever node ends next, and the row names the collective under way that began first. `work` is what "
        "hosts and memory do beside all others."
    ),
)
PHASES = RecordedTable(
    "phases",
    'when chunks waited and ran on every NPU, if ``record`` had "timeline"; raises InputError otherwise',
    asked_record("timeline"),
    (
        Column("npu", "int32", "", "NPU on which it ran"),
        Column("collective", "int32", "", "number of its collective", of=("instance",), made=collectives_of),
        Column("chunk", "int32", "", "number of its chunk", of=("instance",), made=chunks_of),
        Column("phase", "int32", "", "number of its phase", of=("instance",), made=phases_of),
        Column("dimension", "int32", "", "dimension, from 0, as run.json's `dimensions` if it's there; -1: a message"),
        Column("queued_ps", "int64", "ps", "when it joined its queue"),
        Column("start_ps", "int64", "ps", "when it got a slot"),
        Column("end_ps", "int64", "ps", "when the NPU had finished it"),
    ),
    notes=("The phase 1 of a message between two NPUs is its invitation."),
)
CHANNELS = RecordedTable(
    "channels",
    'what each channel of NCCL\'s collectives costs, if ``record`` had "timeline"; raises InputError otherwise',
    f"{asked_record('timeline')}, and a system file with collectives: nccl",
    (
        Column("collective", "int32", "", "number of its collective", of=("instance",), made=collectives_of),
        Column("chunk", "int32", "", "number of its chunk", of=("instance",), made=chunks_of),
        Column("schedule", "int32", "", "number of its schedule, whose rows are in channel_rows"),
        Column("lanes", "int32", "", "lanes of the schedule; that of a step is the step modulo lanes"),
        Column(
            "whole_bytes",
            "int64",
            "B",
            "the data that the schedule's blocks are parts of: b begins at floor(b x data / blocks)",
        ),
        Column("blocks", "int64", "", "number of these blocks"),
        Column("start_ps", "int64", "ps", "from its start on an NPU to the first sends"),
        Column("near_ps", "int64", "ps", "latency of a message from the same server"),
        Column("far_ps", "int64", "ps", "latency of a message from another server"),
        Column("near_copy_bytes_per_ms", "int64", "B/ms", "copying of data from the same server; 0: in no time"),
        Column("far_copy_bytes_per_ms", "int64", "B/ms", "copying of data from another server; 0: in no time"),
        Column("near_wire_per_mille", "int32", "", "bytes on the wire for 1,000 of data, inside a server"),
        Column("far_wire_per_mille", "int32", "", "bytes on the wire for 1,000 of data, between servers"),
        Column(
            "copies_as_it_comes", "int8", "", "1: data from another server is copied as it comes; 0: once all is there"
        ),
    ),
)
CHANNEL_ROWS = RecordedTable(
    "channel_rows",
    'the schedules of NCCL\'s channels, if ``record`` had "timeline"; raises InputError otherwise',
    CHANNELS.asked,
    (
        Column("schedule", "int32", "", "number of the schedule"),
        Column("row", "int32", "", "number of the row; of a message its row modulo the schedule's number of rows here"),
        Column("step", "int32", "", "in which step its receiver handles it"),
        Column("first_block", "int32", "", "first block that it carries; of rank 0 if all ranks do the same"),
        Column("block_count", "int32", "", "number of blocks; 0: a signal of one byte"),
    ),
)
NODES = RecordedTable(
    "nodes",
    'a row per node of a workload of graphs, if ``record`` had "nodes"; raises InputError otherwise',
    asked_record("nodes"),
    (
        Column("npu", "int32", "", "whose node it is"),
        Column("node", "int64", "", "its id"),
        Column("name", "int32", "", "its name", labelled=True),
        Column(
            "kind", "int32", "", "kind of work, as `compute`, `host`, `all_reduce of group 3`, `send`", labelled=True
        ),
        Column("issue_ps", "int64", "ps", "when it began"),
        Column("done_ps", "int64", "ps", "when it had ended"),
    ),
)
COMPLETIONS = RecordedTable(
    "completions",
    "a row per delivered flow, in that order, if the workload is a list of flows; raises InputError otherwise",
    "a workload that is a list of flows, with a folder for the results or --record flows",
    (
        Column("flow", "int32", "", "its place in the list, from 0"),
        Column("source", "int32", "", "NPU that sends"),
        Column("destination", "int32", "", "NPU that receives"),
        Column("bytes", "int64", "B", "size"),
        Column("start_ps", "int64", "ps", "its start, or when what it waits for was delivered"),
        Column("end_ps", "int64", "ps", "when it was delivered, both NPUs' endpoint delays included"),
        Column("ideal_ps", "int64", "ps", "time alone on the network without events; 0: not known"),
    ),
)
RECORDED_TABLES = (
    FLOWS,
    COMPLETIONS,
    ACCOUNTS,
    ACCOUNT_HOPS,
    ACCOUNT_SERVED,
    CONNECTIONS,
    QUEUES,
    QUEUE_PAIRS,
    PAUSES,
    UTILISATION,
    OPERATIONS,
    PHASES,
    CHANNELS,
    CHANNEL_ROWS,
    NODES,
)
"""All that is streamed while a run goes on: by its backend; operations, phases and channels by the system, completions
and nodes by the workload."""


class TableSink(Protocol):
    """Takes the rows of tables that were opened; after :meth:`close` no more."""

    def open(self, table: RecordedTable) -> None:
        """Rows of ``table`` will come."""

    def label(self, name: str, column: str, number: int, text: str) -> None:
        """From now on ``number`` may stand in a labelled column of the table ``name``, for ``text``."""

    def write(self, name: str, columns: Columns) -> None:
        """Take rows of the table ``name``, given by its recorded columns, each of shape ``(rows,)``."""

    def failed(self, file: str, reason: str) -> None:
        """A file that the backend writes itself (a capture) could not be written whole."""

    def close(self) -> None:
        """Finish everything; safe to call twice."""
