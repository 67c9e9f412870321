"""``astra-ns3 nccl``: logs compared and fitted, pairs of servers, the tuner's wrong choices; all with known answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.command import run_command

from astra_ns3.cli.nccl import nccl_group
from astra_ns3.errors import InputError
from astra_ns3.experiments.nccl.bench import OPERATIONS, BenchRow
from astra_ns3.experiments.nccl.comparison import RATIOS
from astra_ns3.experiments.nccl.machine import machine_of
from astra_ns3.experiments.nccl.what_if import what_if

KIB, MIB = 1 << 10, 1 << 20
RING_LL = ("--set", "NCCL_ALGO=Ring", "--set", "NCCL_PROTO=LL")
TWO = ("--servers", "2xhgx-h100", "--gpus", "1")
NIC_GBYTES_PER_S = 50.0
OF_PAYLOAD = 4096 / (4096 + 82)
LATENCY_SHARE = 0.06
"""Of the time of 64 MiB at most that isn't bytes on the narrowest link."""
LEAVES = """topology:
  kind: hierarchical
  nodes: 4
  npus_per_node: 2
  scale_up: {link: {rate: 3000Gbps, delay: 250ns}, switch: {buffer: 64MiB, pfc: {}, reduction: {}}}
  scale_out:
    kind: leaf-spine
    leaves: 2
    hosts_per_leaf: 4
    spines: 1
    link: {rate: 400Gbps, delay: 500ns}
    uplink: {rate: 100Gbps}
    switch: {buffer: 64MiB, pfc: {}}
transport: {kind: roce, payload: 4096}
"""


def printed(*words: str) -> Any:  # JSON
    finished = run_command("nccl", *words, "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def refused(*words: str) -> str:
    """The one line of a command that ends with status 2."""
    finished = run_command("nccl", *words)
    assert finished.returncode == 2
    lines = [line for line in finished.stderr.splitlines() if "error" in line.lower()]
    assert len(lines) == 1
    assert finished.stdout == ""
    return lines[0]


def times(words: Iterable[str], sizes: tuple[str, str] = ("64", "64")) -> list[float]:
    rows = printed(*words, "-b", sizes[0], "-e", sizes[1], "-f", "4")
    return [row["time_us"] for row in rows]


def log_of(folder: Path, rows: Mapping[int, float], ranks: int = 2, name: str = "all_reduce") -> str:
    """Rows as CSV: sizes, and times out of place."""
    head = "size_bytes,oop_time_us,oop_algbw_GBps,oop_busbw_GBps,ip_time_us,ip_algbw_GBps,ip_busbw_GBps"
    lines = [f"{size},{time},,,,," for size, time in rows.items()]
    path = folder / "rows.csv"
    path.write_text("\n".join([f"# {name}; {ranks} GPUs; NCCL 2.26.2", head, *lines, ""]), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("operation", "messages"), [("all_reduce", 2), ("all_gather", 1), ("broadcast", 1), ("reduce", 1), ("sendrecv", 1)]
)
def test_the_overhead_is_added_once_for_each_message_one_after_the_other(operation: str, messages: int) -> None:
    words = (operation, *TWO, *RING_LL[:2])
    sizes = "32", "32"  # 16 bytes of each rank
    (without,) = times([*words, "--set", "NCCL_PROTO=LL"], sizes)
    overheads = ("--set", "host-overhead.LL=50", "--set", "host-overhead.Simple=50")
    (later,) = times([*words, "--set", "NCCL_PROTO=LL", *overheads], sizes)
    assert later - without == pytest.approx(50 * messages, abs=0.01)


def test_a_nic_that_npus_share_is_busy_with_all_that_they_send_and_never_longer_than_it_takes(tmp_path: Path) -> None:
    """Two NPUs have half of 400 Gb/s each, which is most of the time that 64 MiB take."""
    file = tmp_path / "network.yaml"
    shared = LEAVES.replace("hosts_per_leaf: 4", "hosts_per_leaf: 2").replace("uplink: {rate: 100Gbps}", "uplink: {}")
    shared = shared.replace("  scale_up:", "  nics_per_node: 1\n  shared_nics: pcie\n  scale_up:")
    file.write_text(shared, encoding="utf-8")
    words = ("--servers", "4xhgx-h100", "--gpus", "2", "--network", str(file), "--set", "NCCL_ALGO=Ring")
    (row,) = printed("all_reduce", *words, "-b", "64M", "-e", "64M")
    assert row["binds"] == "NIC"
    assert 0.5 < row["share"] <= 1


def test_inside_a_server_no_overhead_is_added() -> None:
    words = ("all_reduce", "--servers", "1xhgx-h100", "--gpus", "2")
    assert times([*words, "--set", "host-overhead=50"]) == times(words)


def test_a_version_that_is_asked_for_goes_before_the_logs(tmp_path: Path) -> None:
    log = log_of(tmp_path, {8: 10.0})
    assert printed("compare", log, *TWO)["version"] == "2.26"
    assert printed("compare", log, *TWO, "--nccl-version", "2.18")["version"] == "2.18"


def test_a_comparison_says_ratios_errors_and_from_where_on_they_part(tmp_path: Path) -> None:
    words = ("all_reduce", *TWO, "--nccl-version", "2.26")
    sizes = [8, 32, 128, 512]
    ours = dict(zip(sizes, times(words, ("8", "512")), strict=True))
    measured = {size: time * (2.0 if size >= 128 else 1.0) for size, time in ours.items()}
    found = printed("compare", log_of(tmp_path, measured), *TWO)
    assert found["version"] == "2.26"  # the log's
    assert [row["ratio"] for row in found["rows"]] == pytest.approx([1, 1, 0.5, 0.5], abs=0.001)
    assert found["errors"]["below_128_mib"] == pytest.approx(0.25, abs=0.001)
    assert found["errors"]["from_128_mib"] is None
    assert found["parts_at_bytes"] == 128
    assert found["formulas_errors"]["below_128_mib"] > 0
    assert RATIOS == (0.8, 1.25)
    text = run_command("nccl", "compare", log_of(tmp_path, measured), *TWO).stdout
    assert "# ours: mean error 25.0% below 128 MiB, no size from 128 MiB" in text
    assert "# the ratio first leaves 0.8 to 1.25 at 128 bytes" in text


def test_a_fit_finds_the_overhead_and_the_efficiency_that_a_cluster_was_made_with(tmp_path: Path) -> None:
    made = machine_of("2xhgx-h100", 1, None, "2.26", ("host-overhead.LL=20", "nic-efficiency=0.9"))
    sizes = [8, 64, 512, 4 * KIB, 512 * MIB, 1024 * MIB, 2048 * MIB]
    log = log_of(tmp_path, {row.size_bytes: row.time_us for row in made.bench("all_reduce", sizes)})
    target = tmp_path / "fit.yaml"
    found = printed("fit", log, *TWO, "-o", str(target))
    assert found["host_overhead_us"]["LL"]["value"] == pytest.approx(20, abs=0.1)
    assert found["nic_efficiency"]["value"] == pytest.approx(0.9, abs=0.005)
    (errors,) = found["logs"]
    assert errors["before"]["below_128_mib"] > 0.5
    assert errors["after"]["below_128_mib"] < 0.01
    assert errors["after"]["from_128_mib"] < 0.01
    again = printed("compare", log, *TWO, "--fit", str(target))
    assert again["errors"]["below_128_mib"] < 0.01


def test_an_overhead_of_one_protocol_leaves_those_of_a_fit(tmp_path: Path) -> None:
    fit = tmp_path / "fit.yaml"
    fit.write_text("server: hgx-h100\nhost-overhead: {LL: 20, Simple: 30}\n", encoding="utf-8")
    table = machine_of("2xhgx-h100", changes=("host-overhead.LL=5",), fit=fit).table
    assert [table.overhead_us(protocol) for protocol in ("LL", "LL128", "Simple")] == [5, 0, 30]
    assert machine_of("2xhgx-h100", changes=("host-overhead=5",), fit=fit).table.overhead_us("Simple") == 5
    with pytest.raises(InputError, match=r"found 'host-overhead\.LL=3' beside host-overhead 5, expected one"):
        machine_of("2xhgx-h100", changes=("host-overhead=5", "host-overhead.LL=3"))


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
def test_broadcasts_and_reduces_are_compared_fitted_and_played_by_each_protocol(operation: str, tmp_path: Path) -> None:
    made = machine_of("2xhgx-h100", 1, None, "2.26", ("host-overhead=20",))
    times = {row.size_bytes: row.time_us for row in made.bench(operation, [8, 64, 512, 64 * MIB])}
    log = log_of(tmp_path, times, name=operation)
    fitted = printed("fit", log, *TWO)
    assert fitted["host_overhead_us"]["LL"]["value"] == pytest.approx(20, abs=0.1)
    compared = printed("compare", log, *TWO, "--set", "host-overhead=20")
    assert [row["ratio"] for row in compared["rows"]] == pytest.approx([1] * 4, abs=0.001)
    assert all(row["formulas_us"] > 0 for row in compared["rows"])
    (row,) = printed(operation, *TWO, "-b", "8", "-e", "8", "--what-if")
    names = {(other["algorithm"], other["protocol"]) for other in (row, *row["others"])}
    assert names == {("Ring", protocol) for protocol in ("LL", "LL128", "Simple")}


def test_one_server_tells_no_overhead(tmp_path: Path) -> None:
    log = log_of(tmp_path, {8: 40.0, 16: 40.0, 32: 40.0})
    line = refused("fit", log, "--servers", "1xhgx-a100", "--gpus", "2")
    assert "tell neither an overhead nor an efficiency: hgx-a100 LL: no overhead is told: found 0 rows" in line


def test_pairs_on_one_leaf_have_the_nic_s_rate_and_pairs_on_two_the_uplink_s(tmp_path: Path) -> None:
    network = tmp_path / "leaves.yaml"
    network.write_text(LEAVES, encoding="utf-8")
    words = ("sendrecv", "--pairs", "--servers", "4xhgx-h100", "--gpus", "2", "-n", str(network), "-e", "64M")
    picture, page = tmp_path / "pairs.svg", tmp_path / "pairs.html"
    matrix = printed(*words, "-o", str(picture))["busbw"]
    # Of a ring over two servers, one message goes each way between them.
    rates = [[None if i == j else 400 if i // 2 == j // 2 else 100 for j in range(4)] for i in range(4)]
    for row, expected in zip(matrix, rates, strict=True):
        for value, rate in zip(row, expected, strict=True):
            if rate is None:
                assert value is None
            else:
                most = rate / 8 * OF_PAYLOAD
                assert (1 - LATENCY_SHARE) * most < value <= most
    assert picture.read_text(encoding="utf-8").count(">11.9<") == 8
    text = run_command("nccl", *words, "-o", str(page)).stdout
    assert "# least 11.86" in text
    assert page.read_text(encoding="utf-8").count("<td style") == 12


@pytest.mark.slow
def test_the_tuner_s_ring_is_slower_than_nvls_trees_on_ten_servers_at_4_gib() -> None:
    words = ("all_reduce", "--servers", "10xhgx-h100", "--nccl-version", "2.29", "--set", "NCCL_PROTO=Simple")
    (row,) = printed(*words, "-b", "4G", "-e", "4G", "--what-if")
    assert (row["algorithm"], row["faster"]["algorithm"]) == ("Ring", "NVLSTree")
    assert {other["algorithm"] for other in row["others"]} == {"NVLSTree", "Tree"}
    # Measured on one such cluster: 313.9 GB/s with the ring at 4 GiB, 344.9 with NVLSTree at 1 GiB.
    assert row["busbw"] == pytest.approx(313.9, rel=0.03)
    assert row["faster"]["busbw"] == pytest.approx(344.9, rel=0.04)
    text = run_command("nccl", *words, "-b", "4G", "-e", "4G", "--what-if").stdout
    assert "# 4294967296 bytes: the tuner chose Ring Simple" in text
    assert text.rstrip().endswith("# the tuner's choice was within 1% of the fastest for 0 of 1 sizes")


def test_pat_is_played_beside_the_ring() -> None:
    words = ("all_gather", "--servers", "4xdgx-h100", "--gpus", "1", "-b", "64K", "-e", "1M", "-f", "16", "--what-if")
    small, large = printed(*words)
    assert (small["algorithm"], large["algorithm"]) == ("Ring", "PAT")
    for row in (small, large):
        names = {(other["algorithm"], other["protocol"]) for other in row["others"]}
        assert names | {(row["algorithm"], row["protocol"])} >= {("PAT", "Simple"), ("Ring", "LL"), ("Ring", "Simple")}
        fastest = row["others"][0]
        assert (row["faster"] is None) == (fastest["time_us"] * 1.01 >= row["time_us"]), row


@pytest.mark.parametrize(
    ("server", "said"), [("hgx-h100", []), ("hgx-a100", ["NVLinks carry 3,000", "NICs carry 400"])]
)
def test_lines_of_a_file_that_are_not_the_server_s_are_told(server: str, said: list[str], tmp_path: Path) -> None:
    (tmp_path / "leaves.yaml").write_text(LEAVES, encoding="utf-8")
    words = ("sendrecv", "--servers", f"4x{server}", "--gpus", "2", "-n", str(tmp_path / "leaves.yaml"), "-e", "8")
    lines = run_command("nccl", *words).stderr.splitlines()
    assert len(lines) == len(said)
    for line, part in zip(lines, said, strict=True):
        assert line.startswith(f"astra-ns3: warning: -n: the network file's {part} Gb/s, those of server '{server}' ")


def test_a_link_that_hashes_collide_on_is_what_binds(tmp_path: Path) -> None:
    """The hash puts more of 8 rings on one of 4 spines than on another; one wide spine carries all evenly."""
    network = tmp_path / "leaves.yaml"
    found = []
    for spines, rate in ((4, "400Gbps"), (1, "3200Gbps")):
        text = LEAVES.replace("npus_per_node: 2", "npus_per_node: 8").replace("leaves: 2", "leaves: 4")
        text = text.replace("hosts_per_leaf: 4", "hosts_per_leaf: 8").replace("spines: 1", f"spines: {spines}")
        network.write_text(text.replace("100Gbps", rate), encoding="utf-8")
        words = ("all_gather", "--servers", "4xhgx-h100", "-n", str(network), "--set", "NCCL_ALGO=Ring")
        found += printed(*words, "-b", "64M", "-e", "64M")
    collide, even = found
    assert collide["binds"].startswith("the link from switch ")
    assert collide["time_us"] > 1.5 * even["time_us"]
    assert 0.8 < collide["share"] <= 1
    assert even["binds"] in {"NIC", "copying"}


def test_gpus_of_a_dgx_1_send_over_their_own_links_and_over_others() -> None:
    """A GPU has a link of 20 GB/s to four others, two links to two of them, and none to three: others pass these on.

    Each sends to the next one: 0 to 1 has one link, and 3 to 4 (over 0) and 7 to 0 (over 4) find two of two free. In an
    all-to-all eight GPUs send over 0 - 4 and 1 - 5 what goes to the other half, apart from the two pairs 2 - 6, 3 - 7:
    six parts each way over two links if equal paths are used alike, and at most seven.
    """
    words = ("--servers", "1xdgx-1v", "-b", "64M", "-e", "64M")
    (sent,) = printed("sendrecv", *words)
    assert sent["busbw"] == pytest.approx(20, rel=0.03)
    (all_to_all,) = printed("alltoall", *words)
    assert 7 * 40 / 7 * 0.94 < all_to_all["busbw"] < 7 * 40 / 6
    (ring,) = printed("all_gather", *words)
    assert ring["busbw"] == pytest.approx(120, rel=0.12)


def test_what_needs_a_tenth_of_the_time_is_named_and_below_that_latency() -> None:
    rows = printed("all_reduce", "--servers", "2xdgx-h100", "-b", "64K", "-e", "16M", "-f", "16")
    assert [row["binds"] for row in rows] == ["latency", "latency", "copying"]
    assert [row["share"] > 0.1 for row in rows] == [False, False, True]
    assert rows[-1]["share"] < 0.5


@pytest.mark.parametrize(
    ("binds", "share", "by_latency"), [("copying", 0.3, True), ("the link from a to b", 0.6, False)]
)
def test_rows_of_which_something_takes_half_aren_t_bound_by_latency(binds: str, share: float, by_latency: bool) -> None:
    row = BenchRow(8, 20.0, 1.0, "Ring", "LL", 1, binds, share)
    assert row.latency_binds is by_latency
    assert row.binds_text == f"{binds} ({share:.0%} of the time)"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("# all_reduce; 2 GPUs\nsize_bytes,oop_time_us\n8,3\n", "found no column oop_algbw_GBps"),
        ("# size count type\n", "found no column 'time'"),
        ("nothing at all\n", "found no line of columns"),
        ("# rccl-tests all_reduce_perf\n# size count type redop root time\n8 2 float sum -1 3\n", "rccl-tests"),
    ],
)
def test_a_log_that_is_cut_or_another_s_is_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "all_reduce.log"
    path.write_text(content, encoding="utf-8")
    for command in ("compare", "fit"):
        assert words in refused(command, str(path), *TWO)


def test_what_does_not_fit_the_log_is_refused(tmp_path: Path) -> None:
    log = log_of(tmp_path, {8: 10.0, 16: 10.0, 32: 10.0}, ranks=16)
    assert "the log has 16 ranks, expected 2 servers x 1 GPUs" in refused("compare", log, *TWO)
    alone = log_of(tmp_path, {8: 10.0}, ranks=1)
    assert "the log has 1 rank, which 2 servers can't share evenly" in refused("compare", alone, *TWO)
    log = log_of(tmp_path, {8: 10.0, 16: 10.0, 32: 10.0}, ranks=16)
    assert "which 3 servers can't share evenly" in refused("compare", log, "--servers", "3xhgx-h100")
    assert "did you mean 'NCCL_ALGO'" in refused("compare", log, "--servers", "2xhgx-h100", "--set", "NCCL_ALGOO=Ring")
    assert "expected once, or once for each of 1 logs" in refused("fit", log, "--servers", "2xp5", "--servers", "4xp5")
    both = refused("fit", log, log, "--servers", "2xp5", "--servers", "2xhgx-h100")
    assert "found hgx-h100, p5, expected one kind of server" in both
    gather = log_of(tmp_path, {8: 10.0}, name="gather")
    assert "found gather, expected a log of all_reduce" in refused("compare", gather, *TWO)


def test_without_servers_the_error_names_some_with_the_hosts_and_gpus_of_the_log(tmp_path: Path) -> None:
    """One host with two A100 GPUs; the CSV names neither, so that it is two servers of the usual kind."""
    log = tmp_path / "all_reduce.log"
    ranks = [
        f"#  Rank  {rank} Group  0 Pid 1 on node-1 device  {rank} [0f:00] NVIDIA A100-SXM4-40GB" for rank in (0, 1)
    ]
    columns = "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong"
    row = "  8  2  float  sum  -1  10  0.00  0.00  0  10  0.00  0.00  0"
    log.write_text("\n".join(["# nThread 1 all_reduce_perf", *ranks, columns, row, ""]), encoding="utf-8")
    bare, words = log_of(tmp_path, {8: 10.0}), "--servers is missing, since a log names no NVLinks and NICs; expected"
    assert refused("fit", str(log)).endswith(f"{log}: {words} such as 1xdgx-a100")
    assert refused("fit", bare).endswith(f"{bare}: {words} such as 2xdgx-h100")
    assert f"{bare}: {words} such as 2xdgx-h100, or -n FILE for" in refused("compare", bare)


def test_a_fit_of_another_server_or_no_fit_is_refused(tmp_path: Path) -> None:
    fit = tmp_path / "fit.yaml"
    fit.write_text("server: p5\nhost-overhead: {LL: 3}\n", encoding="utf-8")
    words = ("all_reduce", *TWO, "--fit", str(fit))
    assert "the fit is of server 'p5', expected 'hgx-h100'" in refused(*words)
    fit.write_text("collectives: nccl\n", encoding="utf-8")
    assert "found no fit" in refused(*words)
    assert "can't be read" in refused("all_reduce", *TWO, "--fit", str(tmp_path / "none.yaml"))


def test_options_that_need_others_are_refused() -> None:
    assert "add --pairs" in refused("all_reduce", *TWO, "-o", "x.png")
    assert "exclude each other" in refused("all_reduce", *TWO, "--pairs", "--what-if")
    assert "--pairs: found 1 servers" in refused("all_reduce", "--servers", "1xhgx-h100", "--pairs")
    assert ".png, .svg, .pdf, .html" in refused("all_reduce", *TWO, "--pairs", "-o", "x.txt").replace(" or ", ", ")
    assert "No such option" in refused("alltoall", *TWO, "--what-if")


def test_only_collectives_that_the_tuner_chooses_for_have_what_if() -> None:
    having = {
        name for name, command in nccl_group.commands.items() if "what_if" in {each.name for each in command.params}
    }
    assert having == {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"}
    assert nccl_group.commands.keys() == OPERATIONS.keys() | {"compare", "fit"}
    with pytest.raises(InputError, match="--what-if: NCCL makes alltoall of messages"):
        what_if(machine_of("2xhgx-h100", 1), "alltoall", [])


def test_each_choice_of_what_if_is_told_after_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of("2xhgx-h100", 1, None, "2.26")
    rows = machine.bench("all_reduce", [KIB, 2 * KIB])
    told: list[str] = []
    what_if(machine, "all_reduce", rows, tell=told.append)
    assert told == []
    monkeypatch.setattr("astra_ns3.experiments.nccl.what_if._SILENT_SECONDS", -1)
    what_if(machine, "all_reduce", rows, tell=told.append)
    assert all(re.fullmatch(r"\w+ \w+: [12] sizes?, choice [0-9]+ of [0-9]+", words) for words in told)
    assert "Ring Simple: 2 sizes, choice" in "\n".join(told)


def test_what_takes_long_is_told_before_it_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of("2xhgx-h100", 1, None, "2.26", ("NCCL_ALGO=Ring", "NCCL_PROTO=LL"))
    told: list[str] = []
    machine.bench("all_reduce", [KIB], tell=told.append)
    assert told == []
    monkeypatch.setattr("astra_ns3.experiments.nccl.bench._LONG_S", 0)
    machine.bench("all_reduce", [KIB], tell=told.append)
    assert told == ["4 messages are played, in some 0 s"]  # two steps of two ranks


def test_a_file_s_servers_are_measured_as_those_of_its_hierarchical_twin(repository: Path, tmp_path: Path) -> None:
    inside, outside = "{buffer: 16MB, ecn: off, pfc: {}}", "{buffer: 64MB, pfc: {}}"
    path = repository / "inputs/network/graphs/Spectrum-X_16g_8gps_400Gbps_H100"
    file = f"{{kind: file, path: {path}, switch: {outside}, scale_up_switch: {inside}}}"
    twin = (
        f"{{kind: hierarchical, nodes: 2, npus_per_node: 8, scale_up: {{link: {{rate: 3600Gbps, delay: 25ns}}, switch: "
        f"{inside}}}, scale_out: {{link: {{rate: 400Gbps, delay: 500ns}}, switch: {outside}}}}}"
    )
    for name, topology in (("file", file), ("twin", twin)):
        words = f"topology: {topology}\ntransport: {{kind: roce, payload: 4096}}\n"
        (tmp_path / f"{name}.yaml").write_text(words, encoding="utf-8")
    for operation in ("all_reduce", "alltoall"):
        of_file, of_twin = (
            printed(operation, "-n", f"{tmp_path}/{name}.yaml", "-b", "64M", "-e", "64M")[0]
            for name in ("file", "twin")
        )
        assert (of_file["algorithm"], of_file["protocol"]) == (of_twin["algorithm"], of_twin["protocol"])
        assert of_file["time_us"] == pytest.approx(of_twin["time_us"], rel=0.02)


@pytest.mark.parametrize("backend", ["flow", "analytical"])
def test_a_graph_of_one_server_without_nics_is_measured(backend: str, tmp_path: Path) -> None:
    nodes = [{"id": npu, "kind": "host"} for npu in range(4)] + [{"id": 4, "kind": "switch", "level": -1}]
    links = [{"source": npu, "target": 4, "rate": "3600Gbps", "delay": "250ns"} for npu in range(4)]
    graph = {"directed": False, "multigraph": True, "graph": {}, "nodes": nodes, "links": links}
    (tmp_path / "one.json").write_text(json.dumps(graph), encoding="utf-8")
    words = "topology: {kind: file, path: one.json, switch: {buffer: 64MiB}}\ntransport: roce\n"
    (tmp_path / "one.yaml").write_text(words, encoding="utf-8")
    chosen = ("-n", f"{tmp_path}/one.yaml", "-b", "64M", "-e", "64M", "--backend", backend)
    (row,) = printed("all_reduce", *chosen)
    assert row["time_us"] >= 2 * 3 / 4 * (64 << 20) / 450e3  # a ring sends so much over each NVLink
