"""What a point's address depends on, and what not."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from support.studies import INPUTS, study_of, written

from astra_ns3.config.graph_workload import GraphNode, GraphWorkload
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.experiments.changes.documents import document_of
from astra_ns3.studies import address
from astra_ns3.studies.expansion import expand
from astra_ns3.studies.file import read_study

GRAPH = "3 1 2\n2\n0 2 100Gbps 0.0005ms 0\n1 2 100Gbps 0.0005ms 0\n"


def addresses(folder: Path, base: dict[str, Any] | None = None, **parts: Any) -> list[str]:
    path = written(folder, study_of(base, **parts))
    return [point.address for point in expand(read_study(path)).points]


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A copy of the three files, which may be changed, and files of users' code."""
    for name in ("workload/micro-all-reduce.txt", "system/flat.yaml", "network/roce-16.yaml"):
        shutil.copy(INPUTS / name, tmp_path / Path(name).name)
    code = {
        "beside.py": "NUMBER = 1\n",
        "policy.py": "from beside import NUMBER\n\ndef first(*words):\n    return 0\n",
        "hook.py": "def on_built(context):\n    pass\n",
        "part.hpp": "#pragma once\n",
        "control.hpp": '#include "part.hpp"\n#include <vector>\nclass Mine;\n',
        "tree.csv": "kind,ranks\n",
        "slowdown.yaml": "jitter: {spread: 0.1}\n",
        "memory.json": '{"memory-type": "NO_MEMORY_EXPANSION"}\n',
        "graph.txt": GRAPH,
    }
    for name, text in code.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


FILES = {"workload": "micro-all-reduce.txt", "system": "flat.yaml", "network": "roce-16.yaml"}
USES: dict[str, dict[str, Any]] = {
    "policy.py": {"scheduling_policy": "policy.py:first"},
    "beside.py": {"system.intra-dimension-scheduling": "policy.py:first"},
    "hook.py": {"on_built": "hook.py"},
    "control.hpp": {"congestion_control": "control.hpp:Mine"},
    "part.hpp": {"network.transport.congestion_control": "control.hpp:Mine"},
    "tree.csv": {"system.all-reduce-implementation": "file:tree.csv"},
    "slowdown.yaml": {"compute_slowdown": "slowdown.yaml"},
    "memory.json": {"remote_memory": "memory.json"},
    "graph.txt": {"network.topology": {"kind": "file", "path": "graph.txt", "switch": {"buffer": "1MB"}}},
}


@pytest.mark.parametrize("name", USES)
def test_a_byte_of_a_file_that_a_point_names_changes_its_address(name: str, inputs: Path) -> None:
    base = {**FILES, **USES[name]}
    before = addresses(inputs, base)
    assert addresses(inputs, base) == before
    (inputs / name).write_bytes((inputs / name).read_bytes() + b" ")
    assert addresses(inputs, base) != before


GPT = "kind: transformer\nname: small\nmodel: {layers: 2, hidden: 256, heads: 4, vocabulary: 1000"
MODELS: dict[str, tuple[str, str]] = {
    "times.csv": (
        GPT + "}\ntraining: {sequence: 64}\ncompute: {kind: table, file: times.csv, device: H100}\n",
        "kind,m,n,k,bytes,time_us\nmatmul,1,2,3,,80\n",
    ),
    "routing.csv": (
        GPT + ", experts: {count: 4, active: 1, feed_forward: 64, routing: routing.csv}}\n"
        "training: {sequence: 64}\nparallel: {expert: 2}\n",
        "layer,expert,tokens\n0,0,5\n0,1,5\n0,2,1\n0,3,1\n1,0,5\n1,1,5\n1,2,1\n1,3,1\n",
    ),
    "products.csv": ("kind: gemms\nname: products\nmodel: {table: products.csv}\n", "Layer,m,n,k\na,16,16,16\n"),
    "placement.csv": (
        "kind: dlrm\nname: ranks\nmodel: {tables: 16, embedding: 64, pooling: 4, dense_features: 8, bottom: [64], "
        "top: [64, 1], tables_of_npus: placement.csv}\n",
        "table,npu\n" + "".join(f"{table},{table}\n" for table in range(16)),
    ),
}
"""Files that a model names, by name, and what a model and its file say."""


@pytest.mark.parametrize("name", MODELS)
def test_a_byte_of_a_file_that_a_model_names_changes_the_address_and_its_place_does_not(
    name: str, inputs: Path, tmp_path: Path
) -> None:
    model, content = MODELS[name]
    (inputs / "model.yaml").write_text(model, encoding="utf-8")
    (inputs / name).write_text(content, encoding="utf-8")
    base = {**FILES, "workload": "model.yaml"}
    before = addresses(inputs, base)
    elsewhere = tmp_path / "else" / "where"
    shutil.copytree(inputs, elsewhere, ignore=shutil.ignore_patterns("else"))
    assert addresses(elsewhere, base) == before
    (inputs / name).write_text(content + "\n", encoding="utf-8")
    assert addresses(inputs, base) != before


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("import pkg", ["pkg/__init__.py"]),
        ("import pkg.deep.leaf", ["pkg/__init__.py", "pkg/deep/__init__.py", "pkg/deep/leaf.py"]),
        ("from pkg import other", ["pkg/__init__.py", "pkg/other.py"]),
        ("from . import sibling", ["sibling.py"]),
        ("from .pkg.other import name", ["pkg/__init__.py", "pkg/other.py"]),
        ("def later():\n    from pkg import deep", ["pkg/__init__.py", "pkg/deep/__init__.py"]),
    ],
)
def test_a_byte_of_a_file_that_is_imported_from_the_same_folder_changes_the_address(
    line: str, files: list[str], inputs: Path
) -> None:
    for name in ("pkg/__init__.py", "pkg/other.py", "pkg/deep/__init__.py", "pkg/deep/leaf.py", "sibling.py"):
        (inputs / name).parent.mkdir(exist_ok=True, parents=True)
        (inputs / name).write_text("", encoding="utf-8")
    (inputs / "policy.py").write_text(f"{line}\n", encoding="utf-8")
    base = {**FILES, **USES["policy.py"]}
    for name in files:
        before = addresses(inputs, base)
        (inputs / name).write_text("# more\n", encoding="utf-8")
        assert addresses(inputs, base) != before, name


def test_modules_elsewhere_on_pythons_path_count_and_ours_do_not(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib").mkdir()
    module = tmp_path / "lib" / "rates_of_mine.py"
    module.write_text("RATE = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    lines = "import json\nimport rates_of_mine\nfrom astra_ns3.topology.graph import Graph\n"
    (inputs / "policy.py").write_text(lines, encoding="utf-8")
    study = written(inputs, study_of({**FILES, **USES["policy.py"]}))
    (point,) = expand(read_study(study)).points
    assert set(point.sources) == {str((inputs / "policy.py").resolve()), str(module.resolve())}


@pytest.mark.parametrize("line", ['#include "{}"', "#include <{}>", '#import "{}"'])
def test_headers_elsewhere_count_by_their_whole_paths(line: str, inputs: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    header = tmp_path / "far" / "step.hpp"
    header.touch()
    (inputs / "control.hpp").write_text(f"{line.format(header)}\nclass Mine;\n", encoding="utf-8")
    study = written(inputs, study_of({**FILES, **USES["control.hpp"]}))
    (point,) = expand(read_study(study)).points
    assert str(header.resolve()) in point.sources


def test_an_imported_package_takes_in_what_it_imports_itself(inputs: Path) -> None:
    (inputs / "pkg").mkdir()
    (inputs / "pkg/__init__.py").write_text("from .one import a\n", encoding="utf-8")
    (inputs / "pkg/one.py").write_text("from .. import beside\n", encoding="utf-8")
    (inputs / "policy.py").write_text("import pkg\n", encoding="utf-8")
    path = written(inputs, study_of({**FILES, **USES["policy.py"]}))
    (point,) = expand(read_study(path)).points
    names = ("policy.py", "pkg/__init__.py", "pkg/one.py", "beside.py")
    assert point.sources == {
        str((inputs / name).resolve()): hashlib.sha256((inputs / name).read_bytes()).hexdigest() for name in names
    }
    assert expand(read_study(path)).tasks("store")[0].sources == point.sources


@pytest.mark.parametrize("name", USES)
def test_the_files_of_users_go_along_with_each_point(name: str, inputs: Path) -> None:
    path = written(inputs, study_of({**FILES, **USES[name]}, two={"passes": [1, 2]}))
    for point in expand(read_study(path)).points:
        assert str((inputs / name).resolve()) in point.sources


def test_a_file_that_a_topology_of_ones_own_is_given_counts(inputs: Path) -> None:
    text = (INPUTS / "extending/hypercube.py").read_text(encoding="utf-8")
    assert "def hypercube(order, rate, delay, buffer):" in text
    text = text.replace("rate, delay, buffer):", "rate, delay, buffer, file, other):")
    (inputs / "mine.py").write_text(text, encoding="utf-8")
    sizes = {"order": 4, "rate": "100Gbps", "delay": "500ns", "buffer": "1MB"}
    of = {**sizes, "file": str(inputs / "graph.txt"), "other": "no file"}
    base = {**FILES, "network.topology": {"kind": "mine.py:hypercube", "parameters": of}}
    before = addresses(inputs, base)
    assert addresses(inputs, base) == before
    (inputs / "graph.txt").write_text("other", encoding="utf-8")
    assert addresses(inputs, base) != before


def test_files_that_a_point_does_not_name_play_no_part(inputs: Path) -> None:
    before = addresses(inputs, FILES)
    for name in USES:
        (inputs / name).write_text("other", encoding="utf-8")
    assert addresses(inputs, FILES) == before


@pytest.mark.parametrize("name", ["flat.yaml", "roce-16.yaml"])
def test_comments_and_blanks_play_no_part_and_values_do(name: str, inputs: Path) -> None:
    before = addresses(inputs, FILES)
    text = (inputs / name).read_text(encoding="utf-8")
    (inputs / name).write_text(f"# another comment\n\n{text}\n", encoding="utf-8")
    assert addresses(inputs, FILES) == before
    changed = text.replace("endpoint-delay: 10 ", "endpoint-delay: 11 ").replace("delay: 500ns ", "delay: 501ns ")
    (inputs / name).write_text(changed, encoding="utf-8")
    assert addresses(inputs, FILES) != before


def test_a_default_that_is_written_out_is_the_same_point(inputs: Path) -> None:
    assert addresses(inputs, FILES) == addresses(inputs, {**FILES, "passes": 1, "network.transport.ack_every": 1})


def test_where_files_lie_plays_no_part(inputs: Path, tmp_path: Path) -> None:
    base = {**FILES, **USES["policy.py"], **USES["hook.py"], **USES["graph.txt"], **USES["part.hpp"]}
    base["network.transport.congestion_control"] = "control.hpp:Mine"
    elsewhere = tmp_path / "else" / "where"
    shutil.copytree(inputs, elsewhere, ignore=shutil.ignore_patterns("else"))
    assert addresses(elsewhere, base) == addresses(inputs, base)


def test_labels_names_limits_and_the_order_of_axes_play_no_part(inputs: Path) -> None:
    one = {"passes": [1, 2], "scale": [0.5, 1.0]}
    turned = {"scale": {"half": 0.5, "whole": 1.0}, "runs": {"a": {"passes": 1}, "b": {"num-passes": 2}}}
    before = addresses(inputs, FILES, one=one)
    study = study_of(FILES, other={"axes": turned, "names": {"runs": "r"}, "limits": {"wall_time": "1s"}})
    path = written(inputs, {**study, "title": "Another"})
    assert {point.address for point in expand(read_study(path)).points} == set(before)
    assert len(set(before)) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"passes": 2},
        {"scale": 0.5},
        {"backend": "analytical"},
        {"compat": "astra-sim-1.0"},
        {"record": ["flows"]},
        {"report_npu": 1},
        {"num_queues_per_dimension": 2},
        {"network.observe.pauses": True},
        {"workload.layers.0.update_ns": 1},
    ],
)
def test_every_option_and_key_changes_the_address(change: dict[str, Any], inputs: Path) -> None:
    assert addresses(inputs, {**FILES, **change}) != addresses(inputs, FILES)


def test_the_seed_changes_the_address(inputs: Path) -> None:
    path = written(inputs, {**study_of(FILES), "seeds": 5})
    assert len({point.address for point in expand(read_study(path)).points}) == 5


@pytest.mark.parametrize("name", ["code_digest", "native_digest", "_versions"])
def test_the_program_changes_the_address(name: str, inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = addresses(inputs, FILES)
    monkeypatch.setattr(address, name, lambda: {"other": "1"} if name == "_versions" else "another")
    assert addresses(inputs, FILES) != before


def test_the_digest_of_the_code_counts_the_rooms_that_play_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "astra_ns3"
    for room in ("cli", "report", "studies", "system", "experiments"):
        (package / room).mkdir(parents=True)
        (package / room / "room.py").write_text("1", encoding="utf-8")
    monkeypatch.setattr(address, "__file__", str(package / "studies" / "address.py"))

    def digest() -> str:
        address.code_digest.cache_clear()
        return address.code_digest()

    found = digest()
    try:
        for room, counts in {"cli": 0, "report": 0, "studies": 0, "system": 1, "experiments": 1}.items():
            before = digest()
            (package / room / "room.py").write_text("2", encoding="utf-8")
            assert (digest() != before) == bool(counts), room
        assert digest() != found
    finally:
        address.code_digest.cache_clear()


def test_a_byte_of_a_trace_changes_the_address(inputs: Path) -> None:
    for file in (INPUTS / "workload" / "chakra").glob("step.*"):
        shutil.copy(file, inputs / file.name)
    base = {**FILES, "workload": "step", "network": str(INPUTS / "network" / "full-mesh-8.yaml")}
    before = addresses(inputs, base)
    assert addresses(inputs, base) == before
    trace = inputs / "step.5.et"
    trace.write_bytes(trace.read_bytes().replace(b"forward", b"backwar", 1))
    assert addresses(inputs, base) != before


class Graphs:
    """Graphs of a user's own class without an NPU, which hides what it has read."""

    source = format = "own"
    npus = 0
    groups: Mapping[str, tuple[int, ...]] = {}
    warnings = ()

    def __init__(self, read: int) -> None:
        self._read = read

    def nodes(self, npu: int) -> Iterable[GraphNode]:
        return ()

    def file_of(self, npu: int) -> str:
        return ""

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> GraphWorkload:
        return self


class Nameless(Graphs):
    """The same with an NPU, whose graph comes from no file."""

    npus = 1


class Slots(Graphs):
    """The same, with a name that says a place elsewhere."""

    __slots__ = ("files",)

    def __init__(self, read: int) -> None:
        self.files = read


@pytest.mark.parametrize("made", [Graphs, Nameless, Slots])
def test_all_that_graphs_of_a_class_of_ones_own_hold_counts(made: Callable[[int], GraphWorkload]) -> None:
    assert document_of(made(1)) == document_of(made(1)) != document_of(made(2))


@pytest.mark.parametrize("held", [Lock(), (each for each in "ab"), lambda: 1])
def test_graphs_that_hold_what_has_no_digest_are_refused_in_one_line(held: Any) -> None:
    with pytest.raises(InputError, match=r"^own: cannot be pickled, .*; leave files, locks and functions out of it: "):
        document_of(Graphs(held))


def test_a_list_of_flows_has_an_address_and_no_keys_to_change(inputs: Path) -> None:
    flows = inputs / "flows.csv"
    flows.write_text("source,destination,bytes,start\n0,1,1KB,0\n", encoding="utf-8")
    base = {**FILES, "workload": "flows.csv"}
    before = addresses(inputs, base)
    assert addresses(inputs, base) == before
    flows.write_text("source,destination,bytes,start\n0,1,2KB,0\n", encoding="utf-8")
    assert addresses(inputs, base) != before
    with pytest.raises(InputError, match="has no keys to change"):
        addresses(inputs, {**base, "workload.bytes": 7})


def test_slowdowns_may_stand_in_a_study_as_keys_and_count_as_they_are_in_force(inputs: Path) -> None:
    values = [{"jitter": {"spread": 0.1}}, {"jitter": {"spread": 0.2}}, {"jitter": {"spread": 0.2, "seed": None}}]
    path = written(inputs, study_of(FILES, one={"compute_slowdown": values}))
    points = expand(read_study(path)).points
    assert [point.labels["compute_slowdown"] for point in points[:2]] == ["jitter spread 0.1", "jitter spread 0.2"]
    first, second, same = (point.address for point in points)
    assert first != second == same
    wrong = written(inputs, study_of(FILES, one={"compute_slowdown": [{"jitter": {"spread": 2}}]}))
    with pytest.raises(InputError, match=r"study.yaml:\d+: compute_slowdown: key 'jitter.spread': found 2"):
        expand(read_study(wrong))


def test_a_value_of_an_axis_that_cannot_be_read_is_blamed_on_its_key(inputs: Path) -> None:
    with pytest.raises(InputError, match=r"study\.yaml(:\d+)?: system\.remote-memory: .*nope\.json: no such file"):
        addresses(inputs, FILES, only={"base": {"system.remote-memory": "nope.json"}})


def test_a_system_with_other_values_of_keys_is_called_so_in_messages(inputs: Path) -> None:
    path = written(inputs, study_of(FILES, only={"splits": {"a": {"system.preferred-dataset-splits": 2}}}))
    (point,) = expand(read_study(path)).points
    assert isinstance(point.request.system, SystemConfig)
    assert str(point.request.system.source).endswith("flat.yaml (changed: system.preferred-dataset-splits)")
