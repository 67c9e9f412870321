"""``astra-ns3 nccl``, and runs whose system file has ``collectives: nccl``: tables, and bad input in one line each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.command import run_command

from astra_ns3.experiments.nccl.bench import BenchRow
from astra_ns3.experiments.nccl.table import table_text

HIERARCHICAL = """topology:
  kind: hierarchical
  nodes: 2
  npus_per_node: {npus}
  scale_up: {{link: {{rate: 3600Gbps, delay: 250ns}}, switch: {{buffer: 64MiB, pfc: {{}}}}}}
  scale_out: {{kind: single-switch, link: {{rate: 400Gbps, delay: 500ns}}, switch: {{buffer: 64MiB, pfc: {{}}}}}}
transport: {{kind: roce}}
"""
RAILS = """topology:
  kind: rail-optimised
  nodes: {nodes}
  npus_per_node: 8
  {keys}
  scale_up: {{link: {{rate: 3026Gbps, delay: 250ns}}, switch: {{buffer: 64MiB, pfc: {{}}, reduction: {{}}}}}}
  link: {{rate: 400Gbps, delay: 500ns}}
  switch: {{buffer: 64MiB, pfc: {{}}}}
transport: {{kind: roce, payload: 4096}}
"""
HEAD = ["size", "time", "algbw", "busbw", "time", "algbw", "busbw", "algorithm", "protocol", "channels"]


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def command(*words: str) -> Finished:
    """In a process of its own: what plays needs true standard streams."""
    finished = run_command(*words)
    return Finished(finished.returncode, finished.stdout, finished.stderr)


@pytest.mark.parametrize(
    ("operation", "share"),
    [
        ("all_reduce", 2 * 15 / 16),
        ("all_gather", 15 / 16),
        ("reduce_scatter", 15 / 16),
        ("broadcast", 1),
        ("reduce", 1),
        ("alltoall", 15 / 16),
        ("sendrecv", 1),
    ],
)
def test_rows_are_nccl_tests_own(operation: str, share: float) -> None:
    """From size and time alone follow its bandwidths, as nccl-tests' PERFORMANCE.md says."""
    finished = command(
        "nccl", operation, "--servers", "2xdgx-h100", "-b", "1M", "-e", "64M", "-f", "8", "--json"
    )  # fmt: skip
    assert (finished.status, finished.err) == (0, "")
    rows = finished.json
    assert [row["size"] for row in rows] == [1 << 20, 1 << 23, 1 << 26]
    for row in rows:
        assert row["operation"] == operation
        assert row["algbw"] == pytest.approx(row["size"] / row["time_us"] / 1000, rel=1e-3)
        assert row["busbw"] == pytest.approx(row["algbw"] * share, rel=1e-3)
        assert 0 < row["share"] <= 1
        assert 1 <= row["channels"] <= 64
    times = [row["time_us"] for row in rows]
    assert times == sorted(times)
    # Eight NICs of 50 GB/s carry at most so much of a GPU's data out of its server; the rest stays inside.
    outside = {"alltoall": 8 / 15, "sendrecv": 1 / 8}.get(operation, 1)
    assert rows[-1]["busbw"] * outside < 400


@pytest.mark.parametrize("operation", ["all_gather", "reduce_scatter", "alltoall"])
def test_a_part_of_each_rank_is_whole_lines_and_what_is_less_has_no_row(operation: str) -> None:
    """As nccl-tests rounds sizes: 16 ranks have 16 bytes each at least, so that less than 256 bytes are none."""
    sizes = ("-b", "200", "-e", "1800", "-f", "3")
    finished = command("nccl", operation, "--servers", "2xdgx-h100", *sizes, "--json")
    assert (finished.status, finished.err) == (0, "")
    assert [row["size"] for row in finished.json] == [600 // 256 * 256, 1800 // 256 * 256]
    whole = command("nccl", operation, "--servers", "2xdgx-h100", "-b", "512", "-e", "512", "--json").json
    assert whole == finished.json[:1]


def test_sizes_of_others_are_whole_floats_and_those_left_out_are_counted() -> None:
    finished = command("nccl", "all_reduce", "--servers", "1xdgx-h100", "-b", "1", "-e", "9", "-f", "3")
    lines = finished.out.splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    assert [row[0] for row in rows] == ["8"]
    assert "# left out: 2 sizes below 4 bytes, rounded down to 0" in lines
    (mean,) = (line for line in lines if line.startswith("# mean of busbw: "))
    assert float(mean.split()[-2]) == pytest.approx(float(rows[0][3]), abs=0.01)


@pytest.mark.parametrize(
    ("operation", "least", "more"),
    [
        ("all_reduce", 4, ()),
        ("sendrecv", 4, ()),
        ("broadcast", 4, ()),
        ("all_gather", 256, ()),
        ("reduce_scatter", 256, ()),
        ("alltoall", 256, ()),
        ("sendrecv", 4, ("--pairs",)),
        ("alltoall", 256, ("--pairs",)),
        ("all_reduce", 4, ("--what-if",)),
        ("reduce", 4, ("--what-if",)),
    ],
)
def test_sizes_that_are_all_rounded_down_to_nothing_are_refused_with_the_least(
    operation: str, least: int, more: tuple[str, ...]
) -> None:
    words = ("nccl", operation, "--servers", "2xdgx-h100", *more, "--json")
    refused = command(*words, "-b", str(least - 1), "-e", str(least - 1))
    assert refused.status == 2
    (line,) = refused.err.splitlines()
    assert (
        f"-e: the largest size is {least - 1} bytes, expected at least {least}: sizes of {operation} on 16 GPUs" in line
    )
    assert command(*words, "-b", "1", "-e", str(least)).status == 0


def test_the_table_is_laid_out_as_nccl_tests_lays_it_out() -> None:
    finished = command("nccl", "all_reduce", "--servers", "1xdgx-h100", "-b", "8", "-e", "64K", "-f", "16")
    assert (finished.status, finished.err) == (0, "")
    title, head, units, *rows, mean = finished.out.splitlines()
    assert title == "# all_reduce on 1 x dgx-h100, NCCL 2.30: out of place, in place"
    assert head.split()[1:11] == HEAD
    assert units.split()[1:] == ["(B)", "(us)", "(GB/s)", "(GB/s)", "(us)", "(GB/s)", "(GB/s)"]
    cells = [row.split() for row in rows]
    assert [int(row[0]) for row in cells] == [8, 128, 2048, 32768]
    for row in cells:
        assert row[1:4] == row[4:7]
    found = float(mean.removeprefix("# mean of busbw: ").removesuffix(" GB/s"))
    assert found == pytest.approx(sum(float(row[3]) for row in cells) / 4, abs=0.01)


@pytest.mark.parametrize(
    ("word", "size"), [("1.5K", 1536), (".5k", 512), ("3e", None), ("1.5KiB", 1536), ("2KB", 2000)]
)
def test_sizes_are_read_as_nccl_tests_reads_them(word: str, size: int | None) -> None:
    finished = command("nccl", "all_reduce", "--servers", "1xdgx-h100", "-b", word, "-e", word, "--json")
    if size is None:
        assert (finished.status, "did you mean" in finished.err) == (2, False)
    else:
        assert [row["size"] for row in finished.json] == [size]


def test_what_is_set_and_which_version_decide() -> None:
    words = ("nccl", "all_reduce", "--servers", "2xdgx-h100", "-b", "16M", "-e", "16M", "--json")
    ring = command(*words, "--set", "NCCL_ALGO=Ring", "--set", "NCCL_PROTO=Simple").json
    tree = command(*words, "--set", "NCCL_ALGO=Tree", "--nccl-version", "2.18").json
    assert [(row["algorithm"], row["protocol"]) for row in ring] == [("Ring", "Simple")]
    assert [row["algorithm"] for row in tree] == ["Tree"]
    slower = command(*words, "--set", "NCCL_ALGO=Ring", "--set", "nic-efficiency=0.25").json
    assert slower[0]["time_us"] > ring[0]["time_us"]


def test_one_server_alone_needs_no_nics_that_its_gpus_can_share() -> None:
    (row,) = command("nccl", "all_reduce", "--servers", "1xp4de", "--gpus", "3", "-b", "1M", "-e", "1M", "--json").json
    assert row["algorithm"] == "Ring"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--servers", "2xdgx-h10"), "server 'dgx-h10' is not one of dgx-1v, "),
        (("--servers", "0xdgx-h100"), "found '0xdgx-h100', expected 1 to 1,000,000 servers"),
        (("--servers", "2xdgx-h100", "-b", "0"), "-b: found 0, expected at least 1 byte"),
        (("--servers", "2xdgx-h100", "-b", "x"), "-b: found 'x', expected a size such as 8, 64K, 1.5G or 1T (powers"),
        (("--servers", "2xdgx-h100", "-e", "1Q"), "-e: found '1Q', expected a size such as "),
        (("--servers", "2xdgx-h100", "--seed", "0"), "--seed': 0 is not in the range 1<=x<=4294967295"),
        (("--servers", "2xdgx-h100", "-b", "2M", "-e", "1M"), "-e: found 1048576, expected at least the smallest size"),
        (("--servers", "2xdgx-h100", "--set", "x"), "--set: found 'x', expected KEY=VALUE"),
        (("--servers", "2xdgx-h100", "--set", "NCCL_FOO=1"), "nccl: found 'NCCL_FOO', expected a variable of NCCL"),
        (("--servers", "2xdgx-h100", "--gpus", "9"), "--gpus: found 9, expected at most the 8 of server 'dgx-h100'"),
        (("--servers", "2xp4de", "--gpus", "3"), "--gpus: 3 GPUs of server 'p4de' can't share 2 NICs evenly"),
        (("--servers", "1xdgx-h100", "--gpus", "1"), "one GPU alone has nobody to send to"),
        (("--servers", "2xdgx-h100", "--nccl-version", "3q"), "nccl: NCCL version: found '3q'"),
        (("--servers", "2xdgx-h100", "-n", "gone.yaml"), "gone.yaml: "),
        (("--servers", "1xdgx-h100", "--set", "NCCL_ALGO=PAT", "-b", "1M"), "no algorithm for AllReduce"),
    ],
)
def test_wrong_words_are_one_line(
    words: tuple[str, ...], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finished = command("nccl", "all_reduce", *words)
    assert (finished.status, finished.out) == (2, "")
    (found,) = finished.err.splitlines()
    assert found.startswith("astra-ns3: error: ")
    assert line in found
    assert list(tmp_path.iterdir()) == []


def _files(folder: Path, system: str, npus: int = 4) -> list[str]:
    texts = {
        "workload.txt": "DATA\n1\nlayer -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 1000000 0\n",
        "system.yaml": system,
        "network.yaml": HIERARCHICAL.format(npus=npus),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    words = ("-w", "-s", "-n")
    return [word for option, name in zip(words, texts, strict=True) for word in (option, str(folder / name))]


@pytest.mark.parametrize(
    ("system", "npus", "line"),
    [
        ("collectives: nccl\nnccl: {NCCL_ALGOS: Ring}\n", 4, "system.yaml:2: key 'nccl': found 'NCCL_ALGOS'"),
        ("collectives: nccl\nnccl: {version: 3x}\n", 4, "system.yaml:2: key 'nccl': NCCL version: found '3x'"),
        ("collectives: nccl\nnccl: {version: 2.30}\n", 4, "system.yaml:2: key 'nccl.version': found 2.3, which may be"),
        (
            "scheduling-policy: LIFO\npreferred-dataset-splits: 1\nnccl: {}\n",
            4,
            "system.yaml:3: key 'nccl': has no effect without 'collectives: nccl'",
        ),
        (
            "collectives: nccl\nnccl: {server: dgx-h100}\n",
            16,
            "system.yaml: server 'dgx-h100' has 8 GPUs, and the network puts 16 NPUs in one; expected at most 8",
        ),
        ("collectives: nccl\nnccl: {NCCL_ALGO: PAT}\n", 4, "NCCL_ALGO=PAT leave no algorithm for AllReduce"),
    ],
)
def test_wrong_system_files_are_one_line_and_nothing_is_written(
    tmp_path: Path, system: str, npus: int, line: str
) -> None:
    words = _files(tmp_path, system, npus)
    before = sorted(tmp_path.iterdir())
    for name, more in (("validate", ()), ("run", ("--backend", "flow", "--output", str(tmp_path / "out")))):
        finished = command(name, *words, *more)
        assert finished.status == 2, finished.err
        (found,) = finished.err.splitlines()
        assert found.startswith("astra-ns3: error: ")
        assert line in found
        assert sorted(tmp_path.iterdir()) == before


def test_a_run_s_messages_are_those_that_validate_foresees(tmp_path: Path) -> None:
    words = _files(tmp_path, "collectives: nccl\n")
    for backend in ("flow", "analytical-queues"):
        foreseen = command("validate", *words, "--backend", backend, "--json").json["forecast"]
        played = command("run", *words, "--backend", backend, "--json").json
        assert played["messages"] == foreseen["messages"] > 0
        assert played["complete"]


def test_what_changes_nothing_is_said_by_validate_and_run_and_stays_with_the_run(tmp_path: Path) -> None:
    system = "collectives: nccl\nnccl: {version: '2.40', NCCL_COLLNET_ENABLE: 1, NCCL_DEBUG: INFO, NCCL_IB_HCA: a}\n"
    words, out = _files(tmp_path, system), tmp_path / "out"
    said = [
        f"{tmp_path / 'system.yaml'}: key 'nccl{words}"
        for words in (
            ".version': the rules of 2.40 aren't known; those of 2.30 decide",
            "': without effect here: NCCL_DEBUG, NCCL_IB_HCA",
            "': NCCL_COLLNET_ENABLE changes nothing: no switch that reduces joins several servers",
        )
    ]
    lines = [f"astra-ns3: warning: {words}" for words in said]
    assert command("validate", *words).err.splitlines() == lines
    finished = command("run", *words, "--backend", "flow", "--output", str(out))
    assert (finished.status, finished.err.splitlines()[:3]) == (0, lines)
    assert json.loads((out / "run.json").read_text(encoding="utf-8"))["warnings"] == said


def test_what_changes_nothing_is_said_by_every_command_of_nccl(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    head = "size_bytes,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps"
    rows = "".join(f"{size},{20 + size / 1024},,,,,\n" for size in (8, 1024, 2048))
    log.write_text(f"# all_reduce; 2 GPUs; NCCL 2.12.12\n{head}\n{rows}", encoding="utf-8")
    machine = ("--servers", "2xhgx-h100", "--gpus", "1")
    sets = ("--set", "NCCL_DEBUG=INFO", "--set", "NCCL_IB_TIMEOUT=22")
    without = "astra-ns3: warning: key 'nccl': without effect here: NCCL_DEBUG, NCCL_IB_TIMEOUT"
    old = "astra-ns3: warning: key 'nccl.version': the rules of 2.12 aren't known; those of 2.18 decide"
    alone = ("nccl", "sendrecv", *machine, *sets, "-e", "8", "--json")
    assert command(*alone).err.splitlines() == [without]
    assert command(*alone, "--pairs").err.splitlines() == [without]
    compared = command("nccl", "compare", str(log), *machine, *sets, "--json")
    assert compared.err.splitlines() == [old, without]
    assert [f"astra-ns3: warning: {words}" for words in compared.json["warnings"]] == [old, without]
    fitted = command("nccl", "fit", str(log), *machine, *sets, "--json")
    assert fitted.err.splitlines() == [old, without]
    assert fitted.json["warnings"] == compared.json["warnings"]


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ("1xdgx-h100", []),
        ("2xdgx-h100", ["its 2 ranks ran on 1 host, here on 2 servers: see --servers and --gpus"]),
        (
            "1xdgx-a100",
            ["its GPUs are NVIDIA H100 80GB HBM3, unlike those of 1 x dgx-a100 (2 GPUs each): see --servers"],
        ),
    ],
)
def test_servers_unlike_the_hosts_and_gpus_of_a_log_are_warned_of(
    tmp_path: Path, servers: str, said: list[str]
) -> None:
    ranks = [f"#  Rank  {each} Pid 15 on node-1 device  {each} [0x0f] NVIDIA H100 80GB HBM3" for each in range(2)]
    head, row = "# size count type redop root time algbw busbw", "1048576 262144 float sum -1 20.0 52.43 52.43"
    log = tmp_path / "all_reduce.log"
    log.write_text("\n".join([*ranks, head, row, "# Avg bus bandwidth : 52.43", ""]), encoding="utf-8")
    compared = command("nccl", "compare", str(log), "--servers", servers, "--json")
    assert compared.json["warnings"] == [f"{log}: {words}" for words in said]


def test_variables_of_the_environment_are_told_not_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    monkeypatch.setenv("NCCL_PROTO", "LL")
    done = command("nccl", "all_reduce", "--servers", "2xhgx-h100", "--gpus", "1", "-e", "8", "--json")
    warning = "not read of the environment: NCCL_ALGO, NCCL_PROTO; give --set NCCL_ALGO=VALUE"
    assert done.err.splitlines() == [f"astra-ns3: warning: {warning}"]


def test_long_times_stand_apart() -> None:
    row = BenchRow(1 << 34, 1_138_752.93, 1.0, "-", "Simple", 2, "NIC", 0.5)
    (line,) = (each for each in table_text("sendrecv", "x", "2.29", [row]).splitlines() if not each.startswith("#"))
    assert line.split()[:7] == ["17179869184", "1138752.9", "15.09", "15.09", "1138752.9", "15.09", "15.09"]


def test_the_help_lists_the_ready_servers() -> None:
    told = command("nccl", "all_reduce", "--help").out
    words = {word.strip(",.") for word in told.split()}
    assert {"dgx-1v", "dgx-h100", "gb300-nvl72", "p6-b200", "gh200-slingshot"} <= words


def test_the_title_says_for_which_server_another_one_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "network.yaml"
    file.write_text(HIERARCHICAL.format(npus=4), encoding="utf-8")
    size = ("-b", "1M", "-e", "1M", "--set", "server=dgx-a100")
    for words, title in (
        (("-n", str(file)), f"on 2 x server of {file}, taken for dgx-a100 (4 GPUs each), NCCL"),
        (("--servers", "2xdgx-h100"), "on 2 x dgx-h100, taken for dgx-a100, NCCL"),
        (("--servers", "2xdgx-a100"), "on 2 x dgx-a100, NCCL"),
    ):
        assert title in command("nccl", "all_reduce", *words, *size).out


def test_without_servers_those_of_the_network_file_are_measured(tmp_path: Path) -> None:
    file = tmp_path / "network.yaml"
    file.write_text(HIERARCHICAL.format(npus=4), encoding="utf-8")
    size = ("-b", "1M", "-e", "1M")
    finished = command("nccl", "all_reduce", "-n", str(file), *size)
    assert f"on 2 x server of {file}, taken for one of Hopper GPUs (4 GPUs each)" in finished.out
    log = tmp_path / "all_reduce.log"
    log.write_text(finished.out, encoding="utf-8")
    for words in ((), ("--servers", "2xhgx-h100", "--gpus", "4")):
        compared = command("nccl", "compare", str(log), "-n", str(file), *words, "--json")
        assert [row["ratio"] for row in compared.json["rows"]] == pytest.approx([1], abs=0.01)
    log.write_text(finished.out.replace("(4 GPUs each)", "(1 GPU each)"), encoding="utf-8")
    refused = command("nccl", "compare", str(log), "-n", str(file))
    assert f"{log}: the log has 2 ranks, expected the 8 NPUs of -n" in refused.err
    for words, said in (((), "--servers is missing"), (("-n", str(file), "--gpus", "2"), "--gpus needs --servers")):
        finished = command("nccl", "all_reduce", *words, *size)
        assert finished.status == 2
        assert said in finished.err


@pytest.mark.parametrize(("nodes", "algorithm"), [(1, "NVLS"), (4, "NVLSTree")])
def test_gpus_that_forward_between_rails_reduce_in_servers_as_others_do(
    tmp_path: Path, nodes: int, algorithm: str
) -> None:
    """Nothing differs inside a server: a GPU's own line to what forwards is as fast as its NVLink."""
    times = []
    for keys in ("spines: 4", "spines: 0\n  forwarding: {by: hosts, injection: {rate: 3026Gbps}}"):
        file = tmp_path / "network.yaml"
        file.write_text(RAILS.format(nodes=nodes, keys=keys), encoding="utf-8")
        table = command("nccl", "all_reduce", "-n", str(file), "-b", "16M", "-e", "16M", "--json")
        (row,) = table.json
        assert row["algorithm"] == algorithm
        times.append(row["time_us"])
    assert times[1] == pytest.approx(times[0], rel=0.01)
