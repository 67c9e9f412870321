"""One case: plain documents, as a user's files would have them, that say all of a run."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from astra_ns3.config.network.packet_network import NetworkConfig, parse_network

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG_FILE = "config.txt"


@dataclass(frozen=True)
class Case:
    """``network``: as a network file, or empty if ``files`` has a config.txt; paths in it are names in ``files``.

    ``job``: see :mod:`soak.jobs`. ``seed``: of the simulation. ``look``: play it a second time, unobserved and with
    audits in between, which must change nothing. ``cores``: it is played on; if above 1, it is played on one, too.
    ``budget_seconds``: wall time it may take.
    """

    name: str
    network: Mapping[str, Any]
    job: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    record: tuple[str, ...] = ()
    look: bool = False
    cores: int = 1
    budget_seconds: float = 60.0

    def document(self) -> str:
        """All of it as JSON."""
        return json.dumps(asdict(self), indent=1)


def case_of(document: str) -> Case:
    """The case that :meth:`Case.document` wrote."""
    data = json.loads(document)
    return Case(**{**data, "record": tuple(data["record"])})


def write_files(case: Case, folder: Path) -> None:
    """Put what the case brings into ``folder``."""
    for name, text in case.files.items():
        (folder / name).write_text(text, encoding="utf-8")


def network_document(case: Case, folder: Path) -> dict[str, Any]:
    """The network file with paths that lead to ``folder``, and to the repository for a control of a user's own."""
    data: dict[str, Any] = copy.deepcopy(dict(case.network))
    if data["topology"].get("kind") == "file":
        data["topology"]["path"] = str(folder / data["topology"]["path"])
    for transport in [data.get("transport"), *data.get("transports", [])]:
        control = transport.get("congestion_control") if isinstance(transport, dict) else None
        if isinstance(control, dict) and ":" in str(control.get("kind")):
            control["kind"] = str(REPOSITORY / control["kind"])
    return data


def network_of(case: Case, folder: Path) -> NetworkConfig | Path:
    """The network to run on; ``folder`` holds the files."""
    if not case.network:
        return folder / CONFIG_FILE
    return parse_network(network_document(case, folder))
