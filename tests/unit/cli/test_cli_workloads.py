"""``astra-ns3 convert`` and ``astra-ns3 show workload``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from support.graphs import chakra_bytes as raw

from astra_ns3.cli.convert import convert_command
from astra_ns3.cli.generate_workload import generate_workload
from astra_ns3.cli.plan import plan_command
from astra_ns3.cli.show import show_group
from astra_ns3.workload.files.astra_sim import read_workload
from astra_ns3.workload.files.chakra.trace import read_chakra

INPUTS = Path(__file__).parents[3] / "inputs" / "workload"
DLRM = str(INPUTS / "DLRM_HybridParallel.txt")
FLOWS = str(INPUTS / "flows-16.csv")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def convert(*words: str) -> Result:
    return CliRunner().invoke(convert_command, words, standalone_mode=False)


def show(*words: str) -> Result:
    return CliRunner().invoke(show_group, ["workload", *words], standalone_mode=False)


def pipeline(folder: Path) -> Path:
    """Two stages: NPU 0 computes 5 us and sends 300 bytes, NPU 1 computes 7 and 2 us, of which 2 us can go beside."""
    first = [raw.node(0, raw.COMPUTE, duration_us=5, num_ops=10), raw.node(1, raw.SEND, [0], comm_dst=1, comm_size=300)]
    second = [
        raw.node(0, raw.RECEIVE, comm_src=0, comm_size=300),
        raw.node(2, raw.COMPUTE, [0], duration_us=7, tensor_size=64),
        raw.node(3, raw.COMPUTE, duration_us=2),
        raw.node(4, raw.COMPUTE, [0], duration_us=1, is_cpu_op=True),
    ]
    both = raw.node(9, raw.COLLECTIVE, comm_type=0, comm_size=40)
    return raw.write_traces(folder, [[*first, both], [*second, both]])


def test_a_conversion_is_told_where_to_write_in_one_of_two_ways() -> None:
    assert convert(FLOWS, "text", "--to", "htsim").exception is None
    assert convert(FLOWS, "-o", "again", "--to", "htsim").exception is None
    assert Path("again").read_text(encoding="utf-8") == Path("text").read_text(encoding="utf-8")
    assert "OUT is 'a' and 'b', expected one" in str(convert(DLRM, "a", "-o", "b").exception)
    assert "expected where to write, as in convert IN OUT" in str(convert(DLRM).exception)


def test_the_numbers_of_a_trace(tmp_path: Path) -> None:
    result = show(str(pipeline(tmp_path)), "--json")
    assert result.exception is None
    document = json.loads(result.output)
    expected = {
        "npus": 2,
        "nodes": 8,
        "dependencies": 3,
        "kinds": {"compute": 3, "collective": 2, "send": 1, "receive": 1, "compute on the host": 1},
        "messages": 1,
        "message_bytes": 300,
        "compute_ps": {"least": 5_000_000, "most": 9_000_000},
        "host_ps": 1_000_000,
        "operations": 10,
        "tensor_bytes": 64,
        "longest_chain_ps": 7_000_000,
        "levels": 2,
    }
    assert {name: document[name] for name in expected} == expected
    (collectives,) = document["collectives"]
    assert collectives == {"collective": "all_reduce", "group": "", "members": 2, "collectives": 1, "bytes_of_each": 40}


def test_the_text_says_how_large_communicators_are() -> None:
    lines = show(str(INPUTS / "chakra")).output.splitlines()
    assert lines[-2:] == [
        "all_reduce     16 in 4 communicators of 2, 1.049 MB on each NPU",
        "all_reduce     8 in 2 communicators of 4, 4.194 MB on each NPU",
    ]


def test_an_npu_of_several_communicators_has_the_bytes_of_all(tmp_path: Path) -> None:
    """NPU 0 is in the groups 0-1 and 0-2, NPU 1 in the first, and NPU 3 in none."""
    first = raw.node(1, raw.COLLECTIVE, comm_type=0, comm_size=100_000, pg_name="1")
    second = raw.node(2, raw.COLLECTIVE, comm_type=0, comm_size=30_000, pg_name="2")
    folder = raw.write_traces(tmp_path, [[first, second], [first], [second], [raw.node(0, raw.COMPUTE)]])
    groups = tmp_path / "groups.json"
    groups.write_text(json.dumps({"1": [0, 1], "2": [0, 2]}), encoding="utf-8")
    (line,) = show(str(folder), "--groups", str(groups)).output.splitlines()[-1:]
    assert line == "all_reduce     2 in 2 communicators of 2, 30 KB to 130 KB on each of 3 NPUs"


def test_a_loop_is_shown_as_the_graph_of_a_pass() -> None:
    lines = show(DLRM, "--dimensions", "2x2").output.splitlines()
    assert lines[0] == f"workload       {DLRM}, unrolled, 4 NPUs"
    assert any(line.startswith("all_to_all     2 in all NPUs") for line in lines)


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_the_memory_of_each_stage_of_a_model_is_told_where_there_are_several(stages: int, tmp_path: Path) -> None:
    model, path = yaml.safe_load((INPUTS / "models" / "vgg-16.yaml").read_text(encoding="utf-8")), tmp_path / "vgg.yaml"
    model.setdefault("parallel", {})["pipeline"] = stages
    path.write_text(yaml.safe_dump(model), encoding="utf-8")
    lines = show(str(path)).output.splitlines()
    assert sum(line.startswith("  stage ") for line in lines) == (stages if stages > 1 else 0)


@pytest.mark.parametrize("name", ["levels.png", "levels.svg"])
def test_a_picture_is_written(name: str) -> None:
    result = show(str(INPUTS / "chakra"), "-o", name)
    assert result.exception is None
    assert Path(name).stat().st_size > 1000


def test_a_picture_of_another_ending_is_refused() -> None:
    assert "ends in .png, .svg, .pdf" in str(show(str(INPUTS / "chakra"), "-o", "levels.jpg").exception)


def test_there_and_back_gives_the_same_bytes() -> None:
    assert convert(DLRM, "dlrm", "--dimensions", "2x4").exception is None
    assert convert("dlrm", "text", "--to", "chakra-json").exception is None
    assert convert("text", "again").exception is None
    for rank in range(8):
        assert Path(f"again.{rank}.et").read_bytes() == Path(f"dlrm.{rank}.et").read_bytes()


def test_communicators_are_written_and_found() -> None:
    assert convert(str(INPUTS / "moe-simai-16.txt"), "moe", "--dimensions", "16").exception is None
    pairs, fours = 8 + 8 + 8, 4  # tensor, expert and expert-data parallel; data parallel; of two stages of 8
    assert len(read_chakra("moe").groups) == pairs + fours
    assert convert("moe", "again", "--json").exception is None
    assert read_chakra("again").groups == read_chakra("moe").groups


def names(pattern: str) -> set[str]:
    return {path.name for path in Path().glob(pattern)}


def test_one_rank_of_a_job_keeps_its_number_and_its_communicators(tmp_path: Path) -> None:
    assert convert(str(INPUTS / "moe-simai-16.txt"), "moe", "--dimensions", "16").exception is None
    told = convert("moe.9.et", "one", "--to", "chakra-json")
    assert told.exception is None
    assert "moe.9.et: is one of 16 ranks, and written alone; all are moe" in told.stderr
    assert names("one*") == {"one.9.json", "one.groups.json"}
    assert Path("one.groups.json").read_bytes() == Path("moe.groups.json").read_bytes()
    assert convert("one.9.json", "back").exception is None
    assert Path("back.9.et").read_bytes() == Path("moe.9.et").read_bytes()
    assert convert("moe.9.et", "other", "--groups", "moe.groups.json").exception is None
    assert names("other*") == {"other.9.et", "other.groups.json"}


def test_what_would_be_mixed_with_another_workload_is_not_written(tmp_path: Path) -> None:
    assert convert(str(INPUTS / "moe-simai-16.txt"), "job", "--dimensions", "16").exception is None
    before = {path.name: path.read_bytes() for path in Path().glob("job*")}

    def refused(*words: str) -> str:
        message = str(convert(*words, "--overwrite").exception)
        assert {path.name: path.read_bytes() for path in Path().glob("job*")} == before
        return message

    more = refused(DLRM, "job", "--dimensions", "2x4")
    assert more == (
        "job.8.et: stands there already, and would be taken for a part of what is written to job (and 8 more such "
        "files); remove it, or write to another name"
    )
    assert "job.0.et: stands there already" in refused("job", "job", "--to", "chakra-json")
    groups = refused(DLRM, "job", "--dimensions", "4x4")
    assert groups.startswith("job.groups.json: stands there already, and would be taken for a part of what is written")
    assert convert("job", "job", "--overwrite").exception is None  # over itself


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ((DLRM, "job", "--dimensions", "2x4"), "job.0.et"),
        ((DLRM, "job", "--dimensions", "2x4", "--to", "chakra-json"), "job.0.json"),
        ((DLRM, "job.txt", "--to", "astra-sim"), "job.txt"),
    ],
)
def test_what_is_there_is_replaced_only_if_asked(words: tuple[str, ...], first: str) -> None:
    assert convert(*words).exception is None
    before = Path(first).stat().st_ino
    again = convert(*words)
    assert str(again.exception) == f"{first}: exists already; name another file or use --overwrite"
    assert Path(first).stat().st_ino == before
    assert convert(*words, "--overwrite").exception is None


def test_a_model_is_written_as_a_graph_and_has_no_file_of_communicators() -> None:
    model = str(INPUTS / "models" / "bert-large.yaml")
    assert convert(model, "bert", "--dimensions", "2").exception is None
    assert read_chakra("bert").npus == 2
    assert "isn't a Chakra trace, so --groups y has no meaning" in str(convert(model, "x", "--groups", "y").exception)


def test_a_loop_is_written_as_text() -> None:
    assert convert(DLRM, "again.txt", "--to", "astra-sim").exception is None
    assert read_workload("again.txt").layers == read_workload(DLRM).layers


NODE = (
    '{{"Id":{},"Name":"a","NodeType":7,"comm_type":{},"comm_size":1048576,"runtime":0,"data_deps":{},"ctrl_deps":[]}}'
)


def write_graph(path: str, *nodes: str) -> None:
    Path(path).write_text(f'{{"workload_graph":[{",".join(nodes)}]}}')


def test_the_trace_of_one_rank_is_that_of_as_many_npus_as_dimensions_say() -> None:
    write_graph("ar1.json", NODE.format(1, 0, []))
    assert "is the trace of one rank, whose collectives" in str(convert("ar1.json", "out", "--to", "simai").exception)
    assert not Path("out").exists()
    assert convert("ar1.json", "out", "--to", "simai", "--dimensions", "2x8").exception is None
    assert "all_gpus: 16" in Path("out").read_text()
    assert "ALLREDUCE\t1048576" in Path("out").read_text()


def test_members_of_a_broadcast_that_end_at_different_times_are_a_warning() -> None:
    warning = "members of a broadcast end at different times"
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 1 ep: 1 pp: 1 all_gpus: 16\n"
    row = "{}\t-1\t0\tNONE\t0\t0\tBROADCAST_DP_EP\t1048576\t0\tNONE\t0\t0\n"
    Path("two.txt").write_text(f"{head}2\n{row.format('b')}{row.format('a')}")
    assert warning in convert("two.txt", "two", "--dimensions", "16").output
    Path("one.txt").write_text(f"{head}1\n{row.format('a')}")
    assert "warning" not in convert("one.txt", "one", "--dimensions", "16").output
    alone = head.replace("group: 1", "group: 16")
    Path("alone.txt").write_text(f"{alone}2\n{row.format('b')}{row.format('a')}")
    assert convert("alone.txt", "alone", "--dimensions", "16").stderr == ""
    plain = "b -1 0 BROADCAST 1048576 0 NONE 0 0 NONE 0 0\n"
    Path("loop.txt").write_text(f"HYBRID_MODEL_DATA\n2\n{2 * plain}")
    assert warning in convert("loop.txt", "loop", "--dimensions", "1x4").stderr
    assert convert("loop.txt", "loop1", "--dimensions", "4x1").stderr == ""
    write_graph("graph.json", NODE.format(1, 5, []), NODE.format(2, 5, [1]))
    assert warning in convert("graph.json", "text", "--to", "simai", "--dimensions", "4").output


def test_what_changes_its_order_on_the_way_is_a_warning() -> None:
    loop = Path("loop.txt")
    row = "{} -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 1000 {}\n"
    loop.write_text("DATA\n2\n" + row.format("a", 5) + row.format("b", 5))
    for target, words in (
        ("chakra", "updates behind collectives that go on at once (up to 10 ns of an NPU) are one after the other"),
        ("simai", "out: the text has 2 collectives that nothing waits for take turns first in, first out"),
    ):
        assert words in convert(str(loop), "out", "--to", target, "--dimensions", "8").output
    loop.write_text("DATA\n1\n" + row.format("a", 5))
    assert "warning" not in convert(str(loop), "out", "--to", "simai", "--dimensions", "8").output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((DLRM, "x"), "is a training loop, whose graph depends on the NPUs that play it; say --dimensions"),
        ((DLRM, "x", "--dimensions", "2x"), "--dimensions is '2x', expected numbers of NPUs such as 8 or 2x4"),
        ((DLRM, "x", "--dimensions", "1000000x1000000"), "makes 1,000,000,000,000 NPUs, expected at most 16,777,216"),
        ((DLRM, "x", "--dimensions", "2", "--passes", "1000001"), "1000001 is not in the range 1<=x<=1000000"),
        ((DLRM, "x", "--to", "csv"), "isn't a list of flows"),
        ((DLRM, "x", "--groups", "y"), "isn't a Chakra trace, so --groups y has no meaning"),
        ((str(INPUTS / "chakra"), "x", "--to", "astra-sim"), "is graphs, which ASTRA-sim's text"),
        ((str(INPUTS / "moe-simai-16.txt"), "x", "--to", "astra-sim"), "whose groups ASTRA-sim's text can't say"),
        ((str(INPUTS / "chakra"), "/proc/no/x"), "cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_said_is_an_error(words: tuple[str, ...], message: str) -> None:
    assert message in str(convert(*words).exception)


def test_the_example_is_what_its_program_writes(repository: Path, tmp_path: Path) -> None:
    from runpy import run_path

    module = run_path(str(INPUTS / "chakra" / "make.py"))
    from astra_ns3.workload.files.chakra.writer import write_chakra

    write_chakra(module["Step"](), tmp_path / "step")
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (INPUTS / "chakra" / path.name).read_bytes()


def test_a_list_of_flows_is_shown_in_a_few_numbers(tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text("source,destination,bytes,start,after\n0,1,1KB,0,\n1,2,3KB,5us,\n2,3,500,,0\n", encoding="utf-8")
    found = json.loads(show(str(flows), "--json").stdout)
    assert (found["flows"], found["bytes"], found["waiting_for_others"]) == (3, 4500, 1)
    assert found["last_start_ps"] == 5_000_000


def test_a_loop_that_says_how_many_npus_it_is_for_is_shown_on_those() -> None:
    assert json.loads(show(str(INPUTS / "moe-simai-16.txt"), "--json").stdout)["npus"] == 16


def test_a_conversion_makes_its_folder_and_takes_it_away_where_it_fails(tmp_path: Path) -> None:
    assert convert(DLRM, "made/here/dlrm", "--to", "chakra", "--dimensions", "2x4").exception is None
    assert (tmp_path / "made" / "here" / "dlrm.0.et").is_file()
    assert convert(DLRM, "other/dlrm", "--to", "chakra", "--dimensions", "none").exception is not None
    assert not (tmp_path / "other").exists()


MODEL = str(INPUTS / "models" / "llama-3-8b.yaml")
NETWORK = str(INPUTS.parent / "network" / "torus-4x4.yaml")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["q.yaml", "--dimensions", "8x4"], "--dimensions has no effect on a model file"),
        (["q.yaml", "--passes", "2"], "--passes has no effect"),
        (["q.txt", "--format", "text", "--passes", "2"], "--passes has no effect"),
    ],
)
def test_options_that_change_nothing_of_a_generated_file_are_refused(words: list[str], said: str) -> None:
    result = CliRunner().invoke(generate_workload, [MODEL, "-o", *words], standalone_mode=False)
    assert str(result.exception).startswith(said)
    assert list(Path().iterdir()) == []


def test_where_a_model_is_wanted_another_kind_of_file_is_named_before_what_is_missing() -> None:
    result = CliRunner().invoke(generate_workload, [NETWORK, "-o", "m.yaml"], standalone_mode=False)
    said = "is a network file, expected a model file; astra-ns3 run takes it: give it as -n, --network"
    assert str(result.exception) == f"{NETWORK}: {said}"
    study = str(INPUTS.parent / "studies" / "first.yaml")
    Path("config.json").write_text('{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}')
    for file, what in (
        (study, "is a study's file, expected a model file; astra-ns3 study plays it"),
        ("config.json", "is a config.json of Hugging Face, expected a model file; astra-ns3 generate workload"),
        (MODEL, "no network is named"),
    ):
        result = CliRunner().invoke(plan_command, [file], standalone_mode=False)
        assert str(result.exception).startswith(f"{file}: {what}")
    result = CliRunner().invoke(plan_command, ["config.json", "-n", NETWORK], standalone_mode=False)
    assert "expected a model file; astra-ns3 generate workload config.json -o model.yaml" in str(result.exception)


@pytest.mark.parametrize(
    ("workload", "target", "options", "idle", "works"),
    [
        (DLRM, "astra-sim", ["--dimensions", "2x4", "--passes", "2"], "--dimensions, --passes", None),
        (str(INPUTS / "chakra"), "chakra-json", ["--scheduling-policy", "FIFO"], "--scheduling-policy", None),
        (str(INPUTS / "flows-16.csv"), "htsim", ["--dimensions", "16"], "--dimensions", None),
        (str(INPUTS / "moe-simai-16.txt"), "simai", ["--dimensions", "16"], "--dimensions", None),
        (MODEL, "model", ["--passes", "2"], "--passes", None),
        (MODEL, "astra-sim", ["--dimensions", "8", "--passes", "2"], "--passes", "--dimensions"),
    ],
)
def test_options_that_change_nothing_of_a_format_are_refused(
    workload: str, target: str, options: list[str], idle: str, works: str | None
) -> None:
    which = "none of --dimensions, --passes, --scheduling-policy works" if works is None else f"only {works} works"
    expected = f"{workload}: {idle}: no effect on this workload in the format {target}, where {which}"
    assert str(convert(workload, "out", "--to", target, *options).exception) == expected
    assert not Path("out").exists()


def test_the_number_of_npus_of_one_rank_s_trace_is_heeded_alone() -> None:
    assert convert(str(INPUTS / "micro-all-reduce.txt"), "all", "--dimensions", "4").exception is None
    Path("alone.3.et").write_bytes(Path("all.3.et").read_bytes())
    words = ("alone.3.et", "simai.txt", "--to", "simai", "--dimensions", "4")
    refused = str(convert(*words, "--passes", "2").exception)
    assert refused.endswith("--passes: no effect on this workload in the format simai, where only --dimensions works")
    assert convert(*words).exception is None


def test_show_shows_a_workload_with_other_values_of_keys_as_run_plays_it() -> None:
    """The same as of a file that says so; keys may leave out the name of the file, as long as they are no other's."""
    row = "a -1 {} NONE 0 1000 NONE 0 1000 ALLREDUCE 1000 0\n"
    for name, nanoseconds in (("one.txt", 1000), ("other.txt", 7000)):
        Path(name).write_text(f"DATA\n1\n{row.format(nanoseconds)}")
    expected = json.loads(show("other.txt", "--json").stdout)
    for key in ("workload.layers.a.forward.compute_ns", "layers.0.forward.compute-ns"):
        found = json.loads(show("one.txt", "--json", "--set", f"{key}=7us").stdout)
        assert {**found, "source": ""} == {**expected, "source": ""}
    model = str(INPUTS / "models" / "llama-3-8b.yaml")
    assert "sequence of 1,024 tokens" in show(model, "--set", "training.sequence=1024").stdout


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (("network.topology=3",), "'network.topology' is a key of the network, expected one of the workload"),
        (("loop=DATA", "workload.loop=DATA"), "'workload.loop' and 'loop' are one key; give it once"),
        (("lop=DATA",), "key 'lop': unknown key; allowed: loop, layers,"),
    ],
)
def test_show_refuses_keys_that_the_workload_has_not(changes: tuple[str, ...], message: str) -> None:
    words = [word for change in changes for word in ("--set", change)]
    assert message in str(show(DLRM, *words).exception)
