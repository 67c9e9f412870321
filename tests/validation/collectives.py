"""What collectives send, and the bandwidths that are worked out of their times."""

from __future__ import annotations

from collections.abc import Callable

from oracles.collective_volumes import TOTAL_SENT
from support.measured import KINDS
from support.roce_network import LOSSLESS, roce_star
from support.star_network import play

import astra_ns3
from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
from validation.comparison import Comparison, Found, Group, against

NPUS, SIZE = 8, 1 << 20
VOLUMES = "tests/unit/collectives/test_collectives_cost.py"
LINE_GBYTES = 12.5


def _sent(kind: CollectiveKind, algorithm: str) -> tuple[str, Callable[[], Found]]:
    """What all NPUs together hand to the network, in bytes."""
    expected = TOTAL_SENT[kind.name.lower(), algorithm](NPUS) * SIZE

    def find() -> Found:
        played = play(roce_star(NPUS, switch={"pfc": LOSSLESS}), lookup(kind, algorithm, NPUS), SIZE)
        return against(sum(played.sent_bytes), float(expected), "bytes", 0)

    return f"{int(expected):,} bytes", find


def _bandwidth() -> Found:
    """As nccl-tests work it out, from the size and the time of the run."""
    ours, theirs = _measured()
    return against(ours, theirs, "GB/s")


def _below_the_line() -> Found:
    ours, _ = _measured()
    return f"{ours:.2f} GB/s", f"{100 * ours / LINE_GBYTES:.1f}% of it" if ours < LINE_GBYTES else "above"


def _measured() -> tuple[float, float]:
    keys: dict[str, object] = {f"{name}-implementation": "ring" for name in KINDS.values()}
    keys |= {"scheduling-policy": "LIFO", "preferred-dataset-splits": 4, "active-chunks-per-dimension": 4}
    size = 16 * SIZE
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n", "micro"),
        system=parse_system(keys),
        network=roce_star(NPUS, switch={"pfc": LOSSLESS}, payload=4096),
    )
    row = result.collectives.iloc[0]
    return float(row["bus_bandwidth_gbytes_per_s"]), size / (row["duration_us"] * 1000) * 2 * (NPUS - 1) / NPUS


_RING = _sent(CollectiveKind.ALL_REDUCE, "ring")
_TREE = _sent(CollectiveKind.ALL_REDUCE, "doubleBinaryTree")
_DIRECT = _sent(CollectiveKind.ALL_TO_ALL, "direct")
GROUPS = [
    Group(
        "Collectives: bytes and bandwidths, 8 NPUs",
        [
            Comparison(
                "sent-ring",
                "all-reduce of 1 MiB, ring: bytes sent by all",
                "2(n-1) S, Patarasuk and Yuan 2009",
                *_RING,
                VOLUMES,
            ),
            Comparison("sent-tree", "the same, `doubleBinaryTree`", "2(n-1) S", *_TREE, VOLUMES),
            Comparison("sent-direct", "all-to-all of 1 MiB, `direct`", "(n-1) S", *_DIRECT, VOLUMES),
            Comparison(
                "bus-bandwidth",
                "bus bandwidth of a ring all-reduce of 16 MiB, 100 Gb/s",
                "definition of NVIDIA's nccl-tests, from size and time",
                "size / time x 14 / 8",
                _bandwidth,
                "tests/unit/experiments/test_results_own_tables.py",
            ),
            Comparison(
                "bus-bandwidth-line",
                "the same beside the line's rate, headers not counted",
                "the line",
                "at most 12.5 GB/s",
                _below_the_line,
                "tests/cli/test_cli_ns3.py",
            ),
        ],
    )
]
