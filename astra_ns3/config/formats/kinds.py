"""The kind of a file that was given in the place of another: one table of signs, asked only when reading has failed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.hpcc_keys import KEYS
from astra_ns3.config.formats.hugging_face.file import is_hugging_face
from astra_ns3.errors import InputError, wrong
from astra_ns3.frozen import dataclass

WORKLOAD, SYSTEM, NETWORK = "a workload", "a system file", "a network file"
GROUPS, REMOTE_MEMORY, SLOWDOWN = "a file of groups", "a file of remote memory", "a file of slowdowns"
LOGICAL_TOPOLOGY, STUDY = "a file of logical dimensions", "a study's file"
SCENARIO = "a scenario's file"
MODEL = "a model file"
"""A workload, where no other workload will do."""
# What takes a file, by what it is taken as.
_OPTION: Mapping[str, str] = {
    WORKLOAD: "give it as -w, --workload",
    SYSTEM: "give it as -s, --system",
    NETWORK: "give it as -n, --network",
    GROUPS: "give it as --groups",
    REMOTE_MEMORY: "give it as --remote-memory",
    SLOWDOWN: "give it as --compute-slowdown",
    LOGICAL_TOPOLOGY: "give it as --logical-topology",
    STUDY: "astra-ns3 study plays it",
    SCENARIO: "give it as --scenario",
}
# Larger files are told by how they begin.
_MOST_BYTES = 4 * 1024 * 1024
# Letters; of longer YAML, which takes seconds to read, the keys at the top are looked for.
_MOST_YAML = 256 * 1024
_KEY_AT_THE_TOP = re.compile(r"^([A-Za-z_][\w-]*):", re.MULTILINE)
_BEGINNING = 400
_PARQUET, _SQLITE, _PROTOBUF_SUFFIX = b"PAR1", b"SQLite format 3\0", ".et"
# The first line of a topology text of HPCC's simulator, or of SimAI's.
_GRAPH_COUNTS = re.compile(r"\d+ \d+ \d+( \d+ \d+( \w+)?)?")
_LOOP = re.compile(r"(MICRO|DATA|MODEL|DISTRIBUTED_INFERENCE|(HYBRID|SIMAI)_[A-Z_]+)\b")
_RUN = "astra-ns3 run"


@dataclass(frozen=True)
class Glimpse:
    """A file as the signs see it: how it begins, its first line, and its plain data if it is YAML or JSON."""

    path: Path
    head: bytes
    data: Mapping[str, object]

    @property
    def text(self) -> str:
        """How it begins."""
        return self.head.decode("utf-8-sig", "replace")

    @property
    def first_line(self) -> str:
        """Without blanks around it; lines that are empty or comments don't count."""
        said = (line.strip() for line in self.text.splitlines())
        return next((line for line in said if line and not line.startswith("#")), "")

    def has(self, *keys: str) -> bool:
        """Whether all the keys stand at the top."""
        return all(key in self.data for key in keys)


class Sign(NamedTuple):
    """``is_one`` tells a kind of file; ``role``: as what it can be given, or whose reader names it itself;
    ``advice``: instead of the role's option.
    """

    what: str
    is_one: Callable[[Glimpse], bool]
    role: str | None = None
    advice: str = ""


def _is_system(seen: Glimpse) -> bool:
    keys = ("scheduling-policy", "all-reduce-implementation", "preferred-dataset-splits", "endpoint-delay")
    return any(key in seen.data for key in keys) or re.match("|".join(keys), seen.first_line) is not None


def _is_groups(seen: Glimpse) -> bool:
    return bool(seen.data) and all(key.isdigit() and isinstance(each, list) for key, each in seen.data.items())


def _is_chakra_json(seen: Glimpse) -> bool:
    """One object, or metadata first and then an object for each node."""
    begin = seen.text[:_BEGINNING].lstrip()
    return begin.startswith("{") and ('"workload_graph"' in begin or ('"version"' in begin and '"attr"' in begin))


def _is_config_txt(seen: Glimpse) -> bool:
    words = seen.first_line.split()
    return not seen.data and bool(words) and words[0] in KEYS


def _is_graph(seen: Glimpse) -> bool:
    if "<graphml" in seen.text or _GRAPH_COUNTS.fullmatch(" ".join(seen.first_line.split())):
        return True
    return seen.has("nodes") and bool({"links", "edges"} & seen.data.keys())


def _is_flows(seen: Glimpse) -> bool:
    names = set(re.split(r"[\s,;]+", seen.first_line.lower()))
    return len(names & {"source", "destination", "bytes", "start", "after"}) > 2


# The first that fits says what a file is.
_SIGNS: tuple[Sign, ...] = (
    Sign(
        "a folder with the results of a run",
        lambda seen: (seen.path / "run.json").is_file(),
        advice="astra-ns3 explain, report and plot read it",
    ),
    Sign(
        "the run.json of a run",
        lambda seen: seen.data.get("format") == _RUN,
        advice="give the files that the run was made of, which its keys workload, system and network name",
    ),
    Sign(
        "a config.json of Hugging Face",
        lambda seen: is_hugging_face(seen.data),
        advice="astra-ns3 generate workload {path} -o model.yaml makes a model file of it",
    ),
    Sign(
        "an index of Hugging Face's weights",
        lambda seen: seen.has("weight_map"),
        advice="astra-ns3 generate workload reads the config.json beside it",
    ),
    Sign(
        "a workload of AICB for GPUs, one GPU's collectives without the members of their groups",
        lambda seen: seen.first_line.startswith("comm_type,comm_group"),
        advice="AICB's SimAI_training_workload_generator writes the same training as a text that -w reads",
    ),
    Sign(
        "a specification of AICB's workloads",
        lambda seen: "Parameter_size" in seen.first_line and "World_size" in seen.first_line,
        advice="AICB's SimAI_training_workload_generator writes a text that -w reads",
    ),
    Sign(MODEL, lambda seen: seen.has("kind", "model"), WORKLOAD),
    Sign(
        "a plan's file",
        lambda seen: seen.has("model", "network") and "kind" not in seen.data,
        advice="astra-ns3 plan plays it",
    ),
    Sign("a study's file", lambda seen: seen.has("parts") and "topology" not in seen.data, STUDY),
    Sign("a scenario's file", lambda seen: seen.has("jobs") and "name" not in seen.data, SCENARIO),
    Sign("a file of logical dimensions", lambda seen: seen.has("logical-dims"), LOGICAL_TOPOLOGY),
    Sign("a file of remote memory", lambda seen: seen.has("memory-type"), REMOTE_MEMORY),
    Sign("a file of slowdowns", lambda seen: bool({"stragglers", "jitter"} & seen.data.keys()), SLOWDOWN),
    Sign("a file of communicators", _is_groups, GROUPS),
    Sign("a folder of Chakra traces", lambda seen: any(seen.path.glob(f"*{_PROTOBUF_SUFFIX}")), WORKLOAD),
    Sign("a Chakra trace", lambda seen: seen.path.suffix == _PROTOBUF_SUFFIX, WORKLOAD),
    Sign("a Chakra trace", _is_chakra_json, WORKLOAD),
    Sign("a system file", _is_system, SYSTEM),
    Sign("a network file", lambda seen: seen.has("topology") or seen.has("topology-name"), NETWORK),
    Sign("a config.txt of HPCC's simulator", _is_config_txt, NETWORK),
    Sign(
        "NCCL's own topology or graph",
        lambda seen: re.search("<(system|graphs) ", seen.text) is not None,
        advice="describe the servers in a network file, or give astra-ns3 nccl --servers",
    ),
    Sign(
        "SimAI's busbw.yaml, a bus bandwidth for each collective",
        lambda seen: "allreduce,:" in seen.text,
        advice="rates of links in a network file, and algorithms, give the bandwidths here",
    ),
    Sign(
        "a graph",
        _is_graph,
        NETWORK,  # whose reader says what it lacks
        advice="in a network file 'topology: {{kind: file, path: {path}, switch: ...}}' reads it",
    ),
    Sign(
        "a schedule of a collective",
        lambda seen: "<algo" in seen.text,
        advice="a system file names it, as all-reduce-implementation: file:{path}",
    ),
    Sign("a training loop", lambda seen: _LOOP.match(seen.first_line) is not None, WORKLOAD),
    Sign("a list of flows", _is_flows, WORKLOAD),
    Sign(
        "a table in Parquet, as a run's results have it",
        lambda seen: seen.head.startswith(_PARQUET),
        advice="astra-ns3 report and plot read the folder",
    ),
    Sign(
        "a database, as a study's folder has it",
        lambda seen: seen.head.startswith(_SQLITE),
        advice="astra-ns3 study reads the folder",
    ),
)


@contextmanager
def told_apart(path: str | os.PathLike[str], expected: str) -> Iterator[None]:
    """Read a file as ``expected``, one of the roles above: if that fails, and it is another kind of file, say so.

    Raises InputError: what was given, what is expected, and what to do.
    """
    try:
        yield
    except InputError as error:
        found = _what_it_is(path)
        if found is None or found.role == (WORKLOAD if expected == MODEL else expected):
            raise
        takes = found.role in (STUDY, None) or expected not in (STUDY, MODEL)
        to_run = "" if takes else "astra-ns3 run takes it: "
        advice = found.advice.format(path=os.fspath(path)) or f"{to_run}{_OPTION[str(found.role)]}"
        raise wrong(f"is {found.what}, expected {expected}; {advice}", path) from error


def _what_it_is(path: str | os.PathLike[str]) -> Sign | None:
    """The sign that fits a file; None if none does, or it can't be read."""
    try:
        seen = _glimpse(Path(path))
    except (OSError, ValueError):
        return None
    return next((sign for sign in _SIGNS if sign.is_one(seen)), None)


def _glimpse(path: Path) -> Glimpse:
    if path.is_dir():
        return Glimpse(path, b"", {})
    if not path.is_file():
        raise OSError("no regular file")
    with path.open("rb") as file:
        head = file.read(_MOST_BYTES + 1)
    return Glimpse(path, head, {} if len(head) > _MOST_BYTES else _plain_data(head))


def _plain_data(content: bytes) -> Mapping[str, object]:
    """The keys at the top of JSON or YAML; none if it is neither."""
    text = content.decode("utf-8-sig", "replace")
    if len(text) > _MOST_YAML and not text.lstrip().startswith("{"):
        return dict.fromkeys(_KEY_AT_THE_TOP.findall(text))
    try:
        data = json.loads(text) if text.lstrip().startswith("{") else parse_yaml(text, "").data
    except (ValueError, RecursionError, InputError):
        return {}
    return {str(key): value for key, value in data.items()} if isinstance(data, Mapping) else {}
