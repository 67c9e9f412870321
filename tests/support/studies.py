"""Small studies as data, and tables of runs that nobody played."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from astra_ns3.experiments.result import Result
from astra_ns3.network.run_document import StopDocument
from astra_ns3.studies.expansion import Expansion, Point, expand
from astra_ns3.studies.file import read_study
from astra_ns3.studies.task import PointOutcome

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ROOT / "inputs"
BASE = {
    "workload": str(INPUTS / "workload/micro-all-reduce.txt"),
    "system": str(INPUTS / "system/flat.yaml"),
    "network": str(INPUTS / "network/roce-16.yaml"),
}


def study_of(base: Mapping[str, Any] | None = None, **parts: Any) -> dict[str, Any]:
    """A study whose base has the three files; ``parts``: each part's axes, or a whole part."""
    made = {name: part if "axes" in part or "base" in part else {"axes": part} for name, part in parts.items()}
    return {"base": {**BASE, **(base or {})}, "parts": made or {"only": {}}}


def written(folder: Path, study: Mapping[str, Any], name: str = "study.yaml") -> Path:
    """The study as a file."""
    path = folder / name
    path.write_text(yaml.safe_dump(dict(study), sort_keys=False), encoding="utf-8")
    return path


def expanded(study: Mapping[str, Any], preset: str = "laptop", only: Sequence[str] = ()) -> Expansion:
    """The points of a study given as data."""
    return expand(read_study(study), preset, only)


def outcome_of(point: Point, status: str = "done", **measures: float) -> PointOutcome:
    """How a point ended that nobody played."""
    error: StopDocument | None = (
        None if status == "done" else {"kind": "LimitReached", "message": "too long", "exit_status": 4}
    )
    return PointOutcome(point.address, status, error, measures, {"wall_seconds": 1.0}, {})


def result_of(folder: Path, files: Mapping[str, str], **metadata: Any) -> Result:
    """A run whose folder holds these text files."""
    document = {
        "format": "astra-ns3 run", "format_version": 1, "complete": True, "stopped": None, "run_name": "made",
        "finish_ps": 0, "compute_ps": 0, "exposed_ps": 0, "npus": 2, "collectives": 1, "statistics": {},
        "files": sorted((*files, *metadata.pop("more_files", ()))), "timing": {}, "memory": {}, "exposed_by_layer": [],
        **metadata,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
    return Result.load(folder)
