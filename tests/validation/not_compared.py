"""What isn't compared, or is where no figure is there to hold against; and why."""

from __future__ import annotations

from validation.comparison import Comparison, Group, recorded

NONE = recorded("none", "not compared")


def _row(key: str, what: str, source: str, theirs: str, why: str) -> Comparison:
    return Comparison(key, what, source, theirs, NONE, note=why)


GROUPS = [
    Group(
        "Not compared",
        [
            _row(
                "hardware",
                "collectives on GPUs with real networks",
                "astra-sim-docs, NCCL on 2 to 8 GPUs",
                "2.8 to 20.6% error of ASTRA-sim",
                "no machine here to measure on; published tables of NCCL: docs/hardware.md",
            ),
            _row(
                "hoti20",
                "DLRM over TCP: analytical against packets, and between four systems",
                "Hot Interconnects 2020",
                "up to 50 times; 3 times",
                "systems and bars are only in pictures; the study `dlrm` says what holds of its words",
            ),
            _row(
                "hoti22",
                "RoCE congestion controls in training",
                "arXiv 2207.10898",
                "little impact end to end",
                "no number in readable text; the study `roce` plays its topology and says where the claim ends",
            ),
            _row(
                "themis",
                "Themis on whole models",
                "ISCA 2022",
                "1.25 to 1.49 times",
                "its systems and workloads aren't published as files; the study `themis` plays ASPLOS 2023's case",
            ),
            _row(
                "hpcc-fct",
                "completion times of HPCC's paper, figure 11",
                "SIGCOMM 2019",
                "up to -95% of DCQCN's tail",
                "needs flows of a trace, which a training loop isn't; its users report that they can't make it either",
            ),
            _row(
                "blog-ring",
                "all-reduce of 16 KiB and 16 MiB on a physical ring",
                "kredd2506.github.io/Astro",
                "57.3 and 700.7 us",
                "its topology file isn't printed",
            ),
            _row(
                "simai",
                "AICB workloads on SimAI",
                "NSDI 2025",
                "98.1% alignment with hardware",
                "its workloads are played (docs/simai.md); the hardware's times aren't published with their files",
            ),
            _row("tcp-real", "TCP of an operating system", "", "", "ns-3's TCP is what runs; no testbed here"),
            _row(
                "nic-real",
                "RoCE NICs and switches",
                "",
                "",
                "no hardware; what is left out stands in docs/roce.md",
            ),
        ],
    )
]
