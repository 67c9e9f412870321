"""A file of another kind than a command reads is named for what it is, with what to do with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from astra_ns3.cli.generate import generate_group
from astra_ns3.config.compute_slowdown import read_compute_slowdown
from astra_ns3.config.formats.logical_topology import read_logical_topology
from astra_ns3.config.formats.remote_memory import read_remote_memory
from astra_ns3.config.network.file import read_network_file
from astra_ns3.errors import InputError
from astra_ns3.studies.file import read_study
from astra_ns3.system.file import read_system
from astra_ns3.workload.files.workload_formats import read_workload
from astra_ns3.workload.models.workload import read_model

INPUTS = Path(__file__).resolve().parents[3] / "inputs"
READERS: dict[str, Callable[[Path], object]] = {
    "a workload": read_workload,
    "a system file": read_system,
    "a network file": read_network_file,
    "a file of logical dimensions": read_logical_topology,
    "a file of remote memory": read_remote_memory,
    "a file of slowdowns": read_compute_slowdown,
    "a study's file": read_study,
}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
AICB = (
    "comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n"
    "CommType.all_reduce,CommGroup.tp_group,8,4096,forward,None,None,,None,None,None,1\n"
)
_MEMORY = '{"memory-type": "NO_MEMORY_EXPANSION"}'
RUN = json.dumps({"format": "astra-ns3 run", "format_version": 1, "workload": {"source": "x"}}, indent=2)
# Name of the file, content, what it is called, what reads it, what is advised.
FILES: list[tuple[str, str | bytes, str, str | None, str]] = [
    ("config.json", json.dumps(LLAMA), "a config.json of Hugging Face", None, "generate workload {path} -o model.yaml"),
    ("run.json", RUN, "the run.json of a run", None, "give the files that the run was made of"),
    ("aicb.csv", AICB, "a workload of AICB for GPUs", None, "SimAI_training_workload_generator"),
    ("index.json", '{"weight_map": {}}', "an index of Hugging Face's weights", None, "config.json"),
    ("groups.json", '{"1": [0, 1]}', "a file of communicators", None, "--groups"),
    ("plan.yaml", "model: m.yaml\nnetwork: n.yaml\nvary: {}", "a plan's file", None, "astra-ns3 plan plays it"),
    ("slow.yaml", "stragglers: [{npus: 3, factor: 2}]", "a file of slowdowns", "a file of slowdowns", "--compute-slow"),
    (
        "dims.json",
        '{"logical-dims": ["2"]}',
        "a file of logical dimensions",
        "a file of logical dimensions",
        "--logical",
    ),
    (
        "m.json",
        '{"memory-type": "NO_MEMORY_EXPANSION"}',
        "a file of remote memory",
        "a file of remote memory",
        "--remote",
    ),
    ("graph.graphml", "<?xml version='1.0'?><graphml/>", "a graph", None, "kind: file"),
    ("topology.txt", "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n", "a graph", None, "kind: file"),
    ("topo.xml", '<system version="1"><cpu/></system>', "NCCL's own topology or graph", None, "--servers"),
    ("busbw.yaml", "test\nTP:\n  allreduce,: 300\n", "SimAI's busbw.yaml", None, "rates of links in a network file"),
    ("ring.xml", "<algo name='ring'></algo>", "a schedule of a collective", None, "file:{path}"),
    ("flows.parquet", b"PAR1\x00\x15\x04", "a table in Parquet", None, "report and plot"),
    ("index.sqlite", b"SQLite format 3\x00\x10", "a database", None, "study"),
    ("mine.et", b"\x0a\x02\x08\x01", "a Chakra trace", "a workload", "-w, --workload"),
    ("t.json", '{"version": "0.0.4", "attr": []}', "a Chakra trace", "a workload", "-w, --workload"),
    ("config.txt", "ENABLE_QCN 1\nCC_MODE 1\n", "a config.txt of HPCC's simulator", "a network file", "-n, --network"),
]
OURS = [
    ("workload/models/llama-3-8b.yaml", "a model file", "a workload", "-w, --workload"),
    ("workload/micro-all-reduce.txt", "a training loop", "a workload", "-w, --workload"),
    ("workload/flows-16.csv", "a list of flows", "a workload", "-w, --workload"),
    ("system/flat.txt", "a system file", "a system file", "-s, --system"),
    ("system/flat.yaml", "a system file", "a system file", "-s, --system"),
    ("network/ring-8.yaml", "a network file", "a network file", "-n, --network"),
    ("studies/first.yaml", "a study's file", "a study's file", "astra-ns3 study"),
]


def refused(path: Path, expected: str) -> str:
    with pytest.raises(InputError) as raised:
        READERS[expected](path)
    return str(raised.value)


@pytest.mark.parametrize("expected", READERS)
@pytest.mark.parametrize(("name", "content", "what", "role", "advice"), FILES, ids=[file[0] for file in FILES])
def test_another_s_file_is_named(
    tmp_path: Path, name: str, content: str | bytes, what: str, role: str | None, advice: str, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if expected == role:
        return
    said = refused(path, expected)
    if what == "a graph" and expected == "a network file":
        assert "is a graph alone" in said
        return
    assert said.startswith(f"{path}: is {what}")
    assert f", expected {expected}; " in said
    assert advice.format(path=path) in said


@pytest.mark.parametrize("expected", READERS)
@pytest.mark.parametrize(("name", "what", "role", "advice"), OURS, ids=[file[0] for file in OURS])
def test_our_own_file_is_named(name: str, what: str, role: str | None, advice: str, expected: str) -> None:
    path = INPUTS / name
    if expected == role:
        READERS[expected](path)
        return
    assert refused(path, expected) == f"{path}: is {what}, expected {expected}; {_advice(advice, expected)}"


def _advice(words: str, expected: str) -> str:
    """A study has no option that takes the file, so it names the command that has."""
    to_run = "astra-ns3 run takes it: " if expected == "a study's file" else ""
    return f"{to_run}give it as {words}" if words.startswith("-") else f"{words} plays it"


def test_a_folder_of_results_and_one_of_traces_are_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(RUN, encoding="utf-8")
    assert "is a folder with the results of a run, expected a network file; " in refused(tmp_path, "a network file")
    said = refused(INPUTS / "workload" / "chakra", "a system file")
    assert "is a folder of Chakra traces, expected a system file; give it as -w, --workload" in said


def test_a_text_whose_first_line_looks_like_a_key_is_read_as_a_text(tmp_path: Path) -> None:
    path = tmp_path / "w.txt"
    path.write_text("name: L\n", encoding="utf-8")
    assert "holds keys" not in refused(path, "a workload")


@pytest.mark.parametrize(
    ("name", "content"),
    [("cluster.json", '{"num_nodes": 1}'), ("x.txt", ' {"a": 1}'), ("m.yaml", "# a\nname: L\n")],
)
def test_keys_of_nothing_that_is_known_are_no_training_loop(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    assert refused(path, "a workload").startswith(f"{path}: holds keys that no workload has; a model file begins with")


def test_a_long_file_is_told_by_its_keys_at_the_top(tmp_path: Path) -> None:
    path = tmp_path / "system.yaml"
    path.write_text("scheduling-policy: LIFO\n" + "# nothing\n" * 60_000, encoding="utf-8")
    assert "is a system file, expected a network file" in refused(path, "a network file")


def test_a_mistake_in_a_file_of_the_right_kind_is_told_as_before(tmp_path: Path) -> None:
    system = tmp_path / "system.yaml"
    system.write_text("scheduling-policy: LIFFO\npreferred-dataset-splits: 1\n", encoding="utf-8")
    assert "found 'LIFFO', allowed: LIFO" in refused(system, "a system file")
    loop = tmp_path / "loop.txt"
    loop.write_text("DTA\n1\nlayer -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4 1\n", encoding="utf-8")
    assert "training loop 'DTA' is not one of" in refused(loop, "a workload")


def generate(*words: str) -> tuple[str, str]:
    """What ``generate workload`` says on standard output and on standard error."""
    done = CliRunner().invoke(generate_group, ["workload", *words], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout, done.stderr


def test_generate_makes_a_model_file_of_a_config_in_a_new_folder(tmp_path: Path) -> None:
    config, target = tmp_path / "config.json", tmp_path / "a" / "b" / "llama.yaml"
    config.write_text(json.dumps(LLAMA), encoding="utf-8")
    said, warned = generate(str(config), "-o", str(target), "--set", "training.sequence=512", "--set", "name=Llama")
    assert said == f"written to {target}: Llama, 32 layers\n"
    assert "sequence 4096" not in warned
    model = read_model(target)
    assert (model.name, model.totals().parameters) == ("Llama", 8_030_261_248)
    assert model.file.training.document()["sequence"] == 512


def test_generate_refuses_a_name_by_which_a_model_file_is_not_known_again(tmp_path: Path) -> None:
    config, target = tmp_path / "config.json", tmp_path / "new" / "llama"
    config.write_text(json.dumps(LLAMA), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"llama: expected a name that ends in \.yaml or \.yml for a model file, or --format"
    ):
        generate(str(config), "-o", str(target))
    assert not target.parent.exists()


def test_generate_writes_a_model_file_where_its_name_says_so_and_traces_where_not(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "num_hidden_layers": 1}), encoding="utf-8")
    generate(str(tmp_path / "config.json"), "-o", str(tmp_path / "one.yml"))
    generate(str(tmp_path / "one.yml"), "-o", str(tmp_path / "again.yaml"), "--set", "model.layers=2")
    assert read_model(tmp_path / "again.yaml").totals().layers == 2
    generate(str(tmp_path / "one.yml"), "-o", str(tmp_path / "new" / "traces"))
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["traces.0.et"]


def test_a_folder_that_was_made_goes_again_if_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        generate(str(INPUTS / "workload/models/llama-3-8b.yaml"), "-o", str(tmp_path / "a/b"), "--format", "text")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        generate(str(INPUTS / "workload/models/bert-large.yaml"), "-o", str(tmp_path / "file/b.yaml"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
