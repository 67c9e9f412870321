"""``astra-ns3 show network``: numbers on standard output, a picture or another format in a file."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from support.graphs.imported_graphs import clos, hpn, spectrum_x
from support.lengths import some_slow

from astra_ns3.cli.show import show_group
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.report.network.figure import draw_network
from astra_ns3.report.network.layout import layout
from astra_ns3.report.network.storage import MOST_IN_A_ROW
from astra_ns3.report.network.structure import NONE, structure
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.graph import Graph, Link

NETWORKS = Path(__file__).parents[3] / "inputs" / "network"
LEAF_SPINE = str(NETWORKS / "leaf-spine-32.yaml")
LINK = {"rate": "100Gbps", "delay": "500ns"}
SWITCH = {"buffer": "64MB"}
PNG_BEGINS = b"\x89PNG"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _show(*words: str) -> Result:
    return CliRunner().invoke(show_group, ["network", *words], standalone_mode=False)


def _graph(name: str) -> Graph:
    from astra_ns3.config.network.packet_network import read_network

    return build_graph(read_network(NETWORKS / f"{name}.yaml").topology)


def test_the_numbers_are_printed() -> None:
    result = _show(LEAF_SPINE)
    assert (result.exception, result.return_value) == (None, None)  # no status but 0
    rows = dict(line.split("  ", 1) for line in result.output.splitlines())
    assert {name.strip(): value.strip() for name, value in rows.items()} == {
        "topology": "leaf-spine",
        "NPUs": "32 as 32",
        "hosts": "32",
        "switches": "6",
        "links, link": "32 of 100 Gb/s, 500 ns",
        "links, uplink": "8 of 200 Gb/s, 500 ns",
        "diameter": "4 links",
        "paths that long": "2 between two NPUs so far apart",
        "bisection": "800 Gb/s",
        # 2 x 123.04 + 2 x 61.52 ns for a packet of 1538 bytes, 20.16 ns for its ACK, eight delays.
        "base round trip": "4.389 us",
        "oversubscription": "leaf 2:1",
        "routing": "ecmp",
    }
    assert list(Path().iterdir()) == []


def test_other_values_of_keys_are_shown() -> None:
    """Four spines of half the rate: as many bytes, twice the links."""
    words = ("--json", "--set", "network.topology.spines=4", "--set", "topology.oversubscription=1")
    before, after = (json.loads(_show(LEAF_SPINE, *each).output) for each in (("--json",), words))
    assert (before["oversubscription"], after["oversubscription"]) == ({"leaf": 2.0}, {"leaf": 1.0})
    assert after["switches"] == before["switches"] + 2


def test_the_numbers_are_an_object_too() -> None:
    result = _show(str(NETWORKS / "torus-4x4.yaml"), "--json", "-o", "torus.png", "--export", "torus.json")
    assert json.loads(result.output) == {
        "file": str(NETWORKS / "torus-4x4.yaml"),
        "kind": "torus",
        "npus": 16,
        "dimensions": [4, 4],
        "hosts": 16,
        "storage_hosts": 0,
        "switches": 16,
        "links": [
            {"class": "injection", "count": 16, "rate_bps": 400 * 10**9, "delay_ps": 0},
            {"class": "axis-0", "count": 16, "rate_bps": 10**11, "delay_ps": 500_000},
            {"class": "axis-1", "count": 16, "rate_bps": 10**11, "delay_ps": 500_000},
        ],
        "diameter": 6,
        "paths": 24,
        "bisection_bps": 800 * 10**9,
        "round_trip_ps": 8 * 500_000 + 4 * (123_040 + 6_720) + 2 * (30_760 + 1_680),
        "oversubscription": {},
        "routing": "ecmp",
        "warnings": [],
        "written": "torus.png",
        "exported": "torus.json",
        "exit_status": 0,
    }
    assert Path("torus.png").read_bytes().startswith(PNG_BEGINS)
    assert len(json.loads(Path("torus.json").read_text())["links"]) == 48


def test_the_round_trip_of_roce_has_its_own_sizes() -> None:
    counts = json.loads(_show(str(NETWORKS / "roce-16.yaml"), "--json").output)
    # 1000 + 62 + 20 bytes and 66 + 20 bytes on the line, at the rate and delay of the file.
    from astra_ns3.config.network.packet_network import SingleSwitch, read_network

    topology = read_network(NETWORKS / "roce-16.yaml").topology
    assert isinstance(topology, SingleSwitch)
    line = sum(-(-size * 8 * 10**12 // topology.link.rate_bps) for size in (1082, 86))
    assert counts["round_trip_ps"] == 2 * line + 4 * topology.link.delay_ps


def test_the_round_trip_over_a_switch_that_cuts_through_is_what_it_waits_for_and_one_line() -> None:
    switch = {**SWITCH, "cut_through": "64B"}
    topology = {"kind": "single-switch", "npus": 4, "link": LINK, "switch": switch}
    document = {"topology": topology, "transport": {"kind": "roce", "payload": 1000}}
    Path("cut.yaml").write_text(json.dumps(document), encoding="utf-8")
    counts = json.loads(_show("cut.yaml", "--json").output)
    # 80 ps a byte: of 1082 and of 86 bytes the switch waits for 64 and the 20 between frames.
    assert counts["round_trip_ps"] == 80 * (84 + 1082) + 80 * (84 + 86) + 4 * 500_000


OURS = sorted(NETWORKS.glob("*.yaml"))
LARGE = ("-128", "-320", "-512", "-1024", "-16384")
"""NPUs of some; drawing takes seconds."""


@pytest.mark.parametrize(
    "path",
    some_slow(OURS, [path for path in OURS if not path.stem.endswith(LARGE)]),
    ids=lambda path: path.stem,
)
def test_every_network_of_ours_is_drawn(path: Path) -> None:
    result = _show(str(path), "-o", "picture.svg")
    assert result.exception is None, result.exception
    assert result.output.splitlines()[-1] == "written to picture.svg"
    assert ElementTree.parse("picture.svg").getroot().tag.endswith("svg")


def test_levels_are_rows_and_nodes_are_frames() -> None:
    drawn = layout(_graph("rail-optimised-32"))
    assert drawn.rows == [("scale-up", 0.0), ("NPUs", 1.0), ("leaf", 2.0), ("spine", 3.0)]
    assert len(drawn.boxes) == 8
    hosts = [mark for mark in drawn.marks if mark.is_host]
    assert [mark.label for mark in hosts] == [str(npu) for npu in range(32)]
    for left, right, bottom, top in drawn.boxes:
        assert sum(left < mark.x < right and bottom < mark.y < top for mark in hosts) == 4
    assert sum(wire.count for wire in drawn.wires) == 80


def test_networks_without_levels_are_drawn_in_a_circle_or_a_grid() -> None:
    for name, marks in (
        ("ring-8", 16),
        ("full-mesh-8", 8),
        ("dragonfly-24", 36),
        ("torus-4x4", 32),
        ("mesh-2x2x3", 24),
    ):
        drawn = layout(_graph(name))
        assert drawn.height is not None
        assert len({(round(mark.x, 3), round(mark.y, 3)) for mark in drawn.marks}) == marks


@pytest.mark.parametrize(
    ("topology", "marks"),
    [
        ({"kind": "fat-tree", "k": 16, "link": LINK, "switch": SWITCH}, 4 * MOST_IN_A_ROW),
        ({"kind": "torus", "shape": [32, 32], "link": LINK, "switch": SWITCH}, 2 * MOST_IN_A_ROW),
        ({"kind": "full-mesh", "npus": 100, "link": LINK}, MOST_IN_A_ROW),
        ({"kind": "single-switch", "npus": 1021, "link": LINK, "switch": SWITCH}, MOST_IN_A_ROW + 1),
    ],
)
def test_crowds_are_drawn_as_one(topology: dict[str, object], marks: int) -> None:
    graph = build_graph(parse_network({"topology": topology}).topology)
    drawn = layout(graph)
    assert len(drawn.marks) <= marks
    assert sum(mark.count for mark in drawn.marks) == graph.nodes
    draw_network(graph, "crowd.png", "a crowd")
    assert Path("crowd.png").read_bytes().startswith(PNG_BEGINS)


@pytest.mark.parametrize(
    ("topology", "entries"),
    [
        ({"leaves": 2, "spines": 2, "links_per_spine": 4}, ["link, 100 Gb/s", "uplink, each line 4 x 100 Gb/s"]),
        ({"leaves": 2, "spines": 2}, ["link, 100 Gb/s", "uplink, 100 Gb/s"]),
        ({"leaves": 49, "spines": 1, "hosts_per_leaf": 1}, ["uplink, each line 1 to 3 x 100 Gb/s"]),
    ],
)
def test_the_legend_says_how_many_links_a_line_stands_for(topology: dict[str, object], entries: list[str]) -> None:
    described = {"kind": "leaf-spine", "hosts_per_leaf": 4, "link": LINK, "uplink": LINK, "switch": SWITCH, **topology}
    draw_network(build_graph(parse_network({"topology": described}).topology), "lines.svg", "lines")
    text = Path("lines.svg").read_text(encoding="utf-8")
    assert [entry for entry in entries if f">{entry}<" not in text] == []


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_network_gives_the_same_picture(suffix: str) -> None:
    for name in ("one", "two"):
        draw_network(_graph("fat-tree-16"), f"{name}.{suffix}", "a tree")
    assert Path(f"one.{suffix}").read_bytes() == Path(f"two.{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.yaml"], "none.yaml: no such file"),
        ([LEAF_SPINE, "-o", "one.gif"], "one.gif: a figure's file ends in .png, .svg, .pdf"),
        ([LEAF_SPINE, "-o", "none/one.png"], "none/one.png: cannot be written: No such file"),
        ([LEAF_SPINE, "--export", "one.dot"], "one.dot: a network to export ends in .graphml, .json, .txt, .yaml"),
        ([LEAF_SPINE, "--set", "workload.layers=4"], "'workload.layers' is a key of the workload, expected one of the"),
        (
            [LEAF_SPINE, "--set", "topology.spins=4"],
            "key 'topology.spins': unknown key; .* did you mean 'topology.spines",
        ),
        (["analytical.yaml"], "analytical.yaml: describes an analytical network, without packets"),
    ],
)
def test_what_can_not_be_shown_is_an_input_error(words: list[str], message: str) -> None:
    Path("analytical.yaml").write_text("topology: [Ring]\nnpus_count: [8]\nbandwidth: [50.0]\nlatency: [500.0]\n")
    error = _show(*words).exception
    assert isinstance(error, InputError)
    with pytest.raises(InputError, match=message):
        raise error


@pytest.mark.parametrize(
    ("picture", "exported"), [("one.svg", "one.csv"), ("one.svg", "none/one.txt"), ("one.gif", "one.txt")]
)
def test_if_a_picture_or_an_export_fails_neither_is_written(picture: str, exported: str) -> None:
    assert isinstance(_show(LEAF_SPINE, "-o", picture, "--export", exported).exception, InputError)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("name", ["one.graphml", "one.json", "one.txt"])
def test_a_graph_alone_is_refused_with_what_reads_it(name: str) -> None:
    assert _show(LEAF_SPINE, "--export", name).exit_code == 0
    error = _show(name).exception
    assert isinstance(error, InputError)
    with pytest.raises(InputError, match=rf"^{name}: is a graph alone; .*kind: file, path: {name}"):
        raise error


def test_what_is_exported_can_be_shown_again() -> None:
    assert _show(LEAF_SPINE, "--export", "mine.graphml").output.splitlines()[-1] == "written to mine.graphml"
    Path("again.yaml").write_text("topology: {kind: file, path: mine.graphml, switch: {buffer: 1MB}}\n")
    first, again = (json.loads(_show(path, "--json").output) for path in (LEAF_SPINE, "again.yaml"))
    for key in ("npus", "switches", "links", "diameter", "paths", "bisection_bps", "oversubscription", "round_trip_ps"):
        assert first[key] == again[key]


def test_the_path_of_a_graph_is_as_seen_from_the_file_that_names_it() -> None:
    Path("below").mkdir()
    _show(LEAF_SPINE, "--export", "below/mine.graphml")
    text = "topology: {kind: file, path: mine.graphml, switch: {buffer: 1MB}}\n"
    Path("below/again.yaml").write_text(text)
    assert json.loads(_show("below/again.yaml", "--json").output)["npus"] == 32
    Path("elsewhere.yaml").write_text(text)
    error = _show("elsewhere.yaml").exception
    assert isinstance(error, InputError)
    assert str(error).startswith("mine.graphml: no such file")


def test_what_can_hardly_be_meant_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    Path("small.yaml").write_text(Path(LEAF_SPINE).read_text().replace("64MB", "20KB"))
    assert _show("small.yaml").exception is None
    assert "buffer of switch 0 ('leaf 0'), 20 KB, is below" in caplog.text
    caplog.clear()
    assert _show(LEAF_SPINE).exception is None
    assert caplog.text == ""


def test_a_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = _show(LEAF_SPINE, "-o", "one.png").exception
    assert isinstance(error, InputError)
    assert "pip install matplotlib" in str(error)
    assert _show(LEAF_SPINE).exception is None


IMPORTED = {
    "spectrum-x-128.txt": spectrum_x(16, 16),
    "spectrum-x-1024.txt": spectrum_x(128, 32, 16),
    "hpn-128.graphml": hpn(2, 8),
    "hpn-1024.graphml": hpn(4, 32, spines=8),
    "clos-128.json": clos(4, 4, 8, 4, 8),
    "clos-1024.json": clos(16, 8, 8, 8, 16),
    "clos-105.json": clos(5, 3, 7, 2, 2),
}
"""Graph files that say nothing of levels, pods and planes."""


def _imported(name: str) -> Graph:
    Path(name).write_text(IMPORTED[name], encoding="utf-8")
    topology = {"kind": "file", "path": name, "switch": SWITCH}
    return build_graph(parse_network({"topology": topology}).topology)


@pytest.mark.parametrize(
    ("name", "rows", "pods", "planes"),
    [
        ("spectrum-x-128.txt", {"scale-up": 16, "NPUs": 128, "level 1": 8, "level 2": 8}, 0, 0),
        ("spectrum-x-1024.txt", {"scale-up": 128, "NPUs": 1024, "level 1": 32, "level 2": 16}, 4, 0),
        ("hpn-128.graphml", {"nvswitch": 16, "NPUs": 128, "tor": 32, "agg": 8}, 2, 2),
        ("hpn-1024.graphml", {"nvswitch": 128, "NPUs": 1024, "tor": 64, "agg": 16}, 4, 2),
        ("clos-128.json", {"NPUs": 128, "level 1": 16, "level 2": 16, "level 3": 8}, 4, 0),
        ("clos-1024.json", {"NPUs": 1024, "level 1": 128, "level 2": 128, "level 3": 16}, 16, 0),
    ],
)
def test_levels_pods_and_planes_of_an_imported_graph_are_found(
    name: str, rows: dict[str, int], pods: int, planes: int
) -> None:
    graph = _imported(name)
    built, drawn = structure(graph), layout(graph)
    assert [row for row, _ in drawn.rows] == list(rows)
    counts = [sum(mark.count for mark in drawn.marks if mark.y == height) for _, height in drawn.rows]
    assert counts == list(rows.values())
    assert len(set(built.pods) - {NONE}) == pods
    assert len(set(built.planes) - {NONE}) == planes
    labels = [frame.label for frame in drawn.frames]
    assert {label for label in labels if label.startswith("pod")} == {f"pod {pod}" for pod in range(pods)}
    assert {label for label in labels if label.startswith("plane")} == {f"plane {plane}" for plane in range(planes)}
    for height in {mark.y for mark in drawn.marks}:
        assert sum(mark.y == height for mark in drawn.marks) <= MOST_IN_A_ROW
    assert sum(wire.count for wire in drawn.wires) == len(graph.links)


@pytest.mark.parametrize("name", [*(name for name in IMPORTED if "1024" in name), "clos-105.json"])
def test_a_mark_stands_for_nodes_of_one_pod_and_plane_and_inside_their_frames(name: str) -> None:
    graph = _imported(name)
    built, drawn = structure(graph), layout(graph)
    hosts = [mark for mark in drawn.marks if mark.is_host]
    for mark in hosts:
        first, last = (int(number) for number in mark.label.split("-"))
        assert last - first + 1 == mark.count
        assert len({built.pods[host] for host in range(first, last + 1)}) == 1
        frames = [
            frame for frame in drawn.frames if frame.left < mark.x < frame.right and frame.bottom < mark.y < frame.top
        ]
        assert [frame.label for frame in frames] == [f"pod {built.pods[first]}"]
    for mark in drawn.marks:
        around = [frame.label for frame in drawn.frames if frame.left < mark.x < frame.right
                  and frame.bottom < mark.y < frame.top and frame.label.startswith("plane")]  # fmt: skip
        assert len(around) == (1 if name.startswith("hpn") and mark.y >= 2 else 0)


def test_pods_of_one_leaf_and_planes_of_one_switch_are_no_groups() -> None:
    leaf_spine = structure(_graph("leaf-spine-32"))
    assert set(leaf_spine.pods) == {NONE}
    links = tuple(Link(host, 4 + switch, 10**11, 0) for switch in range(2) for host in range(4))
    two_switches = Graph(hosts=4, switches=2, links=links, npu_host=tuple(range(4)), switch_buffer_bytes=(1, 1))
    assert set(structure(two_switches).planes) == {NONE}
    assert layout(_graph("leaf-spine-32")).frames == []


def test_the_levels_that_a_graph_has_go_before_those_of_its_links() -> None:
    graph = _graph("fat-tree-16")
    built = structure(graph)
    assert built.levels[graph.hosts :] == graph.switch_levels
    assert not built.inferred
    forgotten = structure(replace(graph, switch_levels=(), switch_names=()))
    assert forgotten.levels == built.levels
    assert forgotten.pods == built.pods


def test_switches_of_rails_alone_are_no_scale_up_but_the_faster_ones_inside_servers_are() -> None:
    links = [Link(host, 8 + host // 4, 10**12, 0) for host in range(8)]  # two servers
    links += [Link(host, 10 + host % 4, 10**11, 0) for host in range(8)]  # four rails
    graph = Graph(hosts=8, switches=6, links=tuple(links), npu_host=tuple(range(8)), switch_buffer_bytes=(1,) * 6)
    assert structure(graph).levels[8:] == (-1, -1, 1, 1, 1, 1)
    assert structure(graph).boxes == (0, 0, 0, 0, 1, 1, 1, 1)
    flat = replace(graph, links=tuple(replace(link, rate_bps=10**11) for link in links))
    assert set(structure(flat).levels[8:]) == {1}


@pytest.mark.parametrize("name", list(IMPORTED))
def test_imported_graphs_are_drawn(name: str) -> None:
    draw_network(_imported(name), "picture.png", name)
    assert Path("picture.png").read_bytes().startswith(PNG_BEGINS)
