"""Workloads as text: ASTRA-sim 1.0's, or SimAI's and AICB's, told apart by what is in them."""

from __future__ import annotations

import os

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.rows import rows_of
from astra_ns3.config.workload import Workload
from astra_ns3.workload.files.astra_sim import format_workload as format_astra_sim
from astra_ns3.workload.files.astra_sim import parse_workload as parse_astra_sim
from astra_ns3.workload.files.simai import format_simai, is_simai, parse_simai
from astra_ns3.workload.loops import SIMAI_LOOPS


def read_workload(path: str | os.PathLike[str]) -> Workload:
    """Read a workload file; raises InputError with file, line and what was expected."""
    return parse_workload(read_text(path), os.fspath(path))


def parse_workload(text: str, source: str = "workload") -> Workload:
    """The workload that ``text`` describes; ``source`` names it in messages. Raises InputError."""
    parse = parse_simai if is_simai(rows_of(text, source)) else parse_astra_sim
    return parse(text, source)


def format_workload(workload: Workload) -> str:
    """The text of a workload; :func:`parse_workload` reads it back to an equal one."""
    return format_simai(workload) if workload.loop in SIMAI_LOOPS else format_astra_sim(workload)
