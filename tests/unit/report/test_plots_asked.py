"""Pictures of runs: what may be asked for, of a result and on the command line, and what is said of the rest."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.documents.pictures import bars, check_page, picture, words_of
from support.fake_backend import FakeBackend
from support.recorded_tables import (
    US,
    full_folder,
    run_folder,
    write_messages,
    write_pairs,
)
from support.small_run import NPUS, small_run, small_system

import astra_ns3
from astra_ns3.errors import InputError
from astra_ns3.experiments.result import Files
from astra_ns3.report.figures.figure import Curve
from astra_ns3.report.figures.with_plotly import _curve
from astra_ns3.report.pictures.kind import width_of
from astra_ns3.report.pictures.kinds import IN_FILES
from astra_ns3.report.ports import levels, paces
from astra_ns3.report.tables import names_of
from astra_ns3.scenario.tenant import Tenant

NAMES = [kind.name for kind in IN_FILES]
GBPS = 10**9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which everything was recorded."""
    return full_folder(tmp_path_factory.mktemp("whole"))


def test_a_result_names_its_pictures(folder: Path) -> None:
    result = astra_ns3.Result.load(folder)
    assert dir(result.plot) == sorted(NAMES)
    assert all(getattr(result.plot, name).__doc__ for name in NAMES)
    with pytest.raises(AttributeError, match="no picture 'lairs'"):
        _ = result.plot.lairs


def test_a_picture_of_several_tables_names_the_network_file_and_packets_once(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    told = json.loads((path / "run.json").read_text(encoding="utf-8"))
    (path / "run.json").write_text(json.dumps({**told, "backend": "analytical"}), encoding="utf-8")
    how = "a network of packets (--backend ns3) and observe.queues or observe.pauses in the network file"
    with pytest.raises(InputError, match=f"{re.escape(how)}$"):
        astra_ns3.Result.load(path).plot.queues()


def test_what_only_packets_have_is_not_advised_to_an_analytical_run(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    told = json.loads((path / "run.json").read_text(encoding="utf-8"))
    for backend, words in (
        ("ns3", "run again with --record accounts"),
        ("flow", "run again with --record accounts"),
        ("analytical", "run again with a network of packets (--backend ns3) and --record accounts"),
        ("analytical-queues", "run again with a network of packets (--backend ns3) and --record accounts"),
    ):
        (path / "run.json").write_text(json.dumps({**told, "backend": backend}), encoding="utf-8")
        with pytest.raises(InputError) as error:
            astra_ns3.Result.load(path).plot.accounts()
        assert str(error.value).endswith(f"has nothing for 'accounts': {words}")


def test_a_result_that_was_not_saved_has_pictures(folder: Path) -> None:
    result = astra_ns3.run(**small_run())
    assert len(bars(result.plot.layers())) > 0
    with pytest.raises(InputError, match="this run: has nothing for 'completion': run again with --record flows"):
        result.plot.completion()


@pytest.mark.parametrize(
    ("kind", "select", "said"),
    [
        ("layers", "al", r"role 'al' is not one of all; did you mean 'all'\?"),
        ("timeline", "4", "NPU '4' is not one of 0 to 3"),
        ("memory", "5", "stage '5' is not one of 0, 1"),
        ("utilisation", "host7", "port 'host7' was not recorded, but host0, switch0:1; did"),
        ("rates", "01", "pair '01' is not two NPUs"),
        ("rates", "1-0", "nothing was recorded from NPU 1 to NPU 0"),
        ("rates", "0-7", "nothing was recorded from NPU 0 to NPU 7"),
        ("bandwidth", "ALLTOAL", "collective 'ALLTOAL' is not one of ALLREDUCE"),
        ("exposed", "0", "'exposed' has nothing to select"),
    ],
)
def test_a_choice_that_is_not_there_is_refused(kind: str, select: str, said: str, folder: Path) -> None:
    with pytest.raises(InputError, match=said):
        picture(folder, kind, select=select)


def test_a_node_stands_for_all_of_its_ports(folder: Path) -> None:
    figure = picture(folder, "utilisation", select="switch0")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["switch0:1"]


@pytest.mark.parametrize("kind", ["bandwidth", "completion", "exposed"])
def test_other_runs_stand_beside(kind: str, folder: Path, tmp_path: Path) -> None:
    other = run_folder(tmp_path / "other", run_name="second", system=small_system(**{"endpoint-delay": 900}))
    write_messages(other, [(0, 1, 0, 20 * US)], ideal_ps=US)
    figure = picture(folder, kind, beside=[astra_ns3.Result.load(other)])
    check_page(figure)
    assert any("second" in word for word in words_of(figure))
    with pytest.raises(InputError, match="shows one run; none can stand beside it"):
        picture(folder, "layers", beside=[astra_ns3.Result.load(other)])


@pytest.mark.parametrize("kind", ["bandwidth", "completion", "slowdown"])
def test_at_most_as_many_runs_as_there_are_colours_stand_beside_each_other(kind: str, folder: Path) -> None:
    run = astra_ns3.Result.load(folder)
    picture(folder, kind, beside=[run] * 7)
    with pytest.raises(InputError, match=rf"'{kind}' of 9 runs, expected at most 8$"):
        picture(folder, kind, beside=[run] * 8)


def test_curves_of_eight_runs_all_differ(folder: Path) -> None:
    drawn = picture(folder, "completion", beside=[astra_ns3.Result.load(folder)] * 7).axes[0].lines
    assert len(drawn) == len({repr(getattr(line, "_dash_pattern")) for line in drawn}) == 8  # noqa: B009
    styles = {_curve(Curve([0, 1], [0, 1], dash=dash))["line"]["dash"] for dash in range(8)}
    assert len(styles) == 8


FLOOR = {"time_ps": 4 * US, "share": 0.25, "where": "leaf 3's uplinks"}
STOPPED = {"message": "its limit was reached", "kind": "LimitReached", "exit_status": 3}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(
    ("flaw", "mark"),
    [
        ({"floor": FLOOR}, "below the floor, 0.25 of the 4 us that leaf 3's uplinks need"),
        ({"stopped": STOPPED, "complete": False}, "stopped before its end, its limit was reached"),
    ],
)
def test_every_picture_marks_a_run_below_its_floor_and_one_that_was_stopped(
    kind: str, flaw: dict[str, Any], mark: str, folder: Path, tmp_path: Path
) -> None:
    marked = Path(shutil.copytree(folder, tmp_path / "marked"))
    told = json.loads((marked / "run.json").read_text(encoding="utf-8"))
    (marked / "run.json").write_text(json.dumps({**told, **flaw}), encoding="utf-8")
    figure = picture(marked, kind)
    check_page(figure)
    assert any(mark in " ".join(word.split()) for word in words_of(figure))
    assert not any("floor" in word or "stopped before" in word for word in words_of(picture(folder, kind)))
    if kind in ("bandwidth", "completion", "exposed"):
        both = picture(folder, kind, beside=[astra_ns3.Result.load(marked)])
        assert any(f"marked: {mark}" in " ".join(word.split()) for word in words_of(both))


def test_slowdowns_of_one_size_are_bars_by_percentile_and_run(folder: Path, tmp_path: Path) -> None:
    """Alone a message takes 1 us; the median of 2, 3, 3 and 7 us is 3, their 95th and 99th percentile 7."""
    other = run_folder(tmp_path / "other", run_name="second")
    write_messages(other, [(0, 1, 0, 20 * US)], ideal_ps=US)
    figure = picture(folder, "slowdown", beside=[astra_ns3.Result.load(other)])
    check_page(figure)
    assert bars(figure)[:, 3].tolist() == [3, 7, 7, 20, 20, 20]
    assert figure.axes[0].get_xlabel() == "percentile of messages of 1 KB"
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["p50", "p95", "p99"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["small", "second"]
    assert figure.axes[0].get_title(loc="right") == "percentiles of 1 to 4 messages each"


@pytest.mark.parametrize(("messages", "note"), [(99, "percentiles of 99 messages each"), (100, "")])
def test_slowdowns_of_few_messages_are_said_to_be(messages: int, note: str, tmp_path: Path) -> None:
    few = run_folder(tmp_path / "few")
    write_messages(few, [(0, 1, 0, (number + 1) * US) for number in range(messages)], ideal_ps=US)
    figure = picture(few, "slowdown")
    check_page(figure)
    assert figure.axes[0].get_title(loc="right") == note


@pytest.mark.parametrize(
    ("kind", "select", "title"),
    [
        ("queues", (), "small (out): queues and pauses of 3 ports"),
        ("queues", "host0", "small (out): queues and pauses of port host0 to switch0"),
        ("queues", "switch0", "small (out): queues and pauses of port switch0:1 to host1"),
        ("rates", "0-1", "small (out): allowed rates and windows from NPU 0 to NPU 1"),
    ],
)
def test_a_title_names_the_run_the_quantity_and_the_place(kind: str, select: str, title: str, folder: Path) -> None:
    assert " ".join(picture(folder, kind, select=select).get_suptitle().split()) == title


@pytest.mark.parametrize(
    ("ends", "where"),
    [
        ([(3, 1), (5, 1)], "from 2 NPUs to NPU 1"),
        ([(3, 1), (3, 2), (3, 4)], "from NPU 3 to 3 NPUs"),
        ([(3, 1), (1, 3)], "of 2 pairs of NPUs"),
    ],
)
def test_a_title_names_ends_that_pairs_have_in_common(ends: list[tuple[int, int]], where: str, tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    write_pairs(path, "queue_pairs", [(US, source, to, "rate_bps", 10**9) for source, to in ends])
    assert picture(path, "rates").get_suptitle().endswith(f": allowed rates {where}")


def test_a_job_of_a_scenario_is_named(tmp_path: Path) -> None:
    """Jobs of one workload in two scenarios: the jobs' names, or where those are alike their folders'."""
    small = small_run()
    for name in ("dcqcn", "hpcc"):
        jobs = [Tenant(job, npus, small["workload"], small["system"]) for job, npus in (("a", [0, 1]), ("b", [2, 3]))]
        backend = FakeBackend(NPUS)
        astra_ns3.run_scenario(network=small["network"], tenants=jobs, backend=backend, output=tmp_path / name)
    first, second = (astra_ns3.ScenarioResult.load(tmp_path / name).tenants for name in ("dcqcn", "hpcc"))
    beside = first["a"].plot.exposed(beside=[first["b"]]).axes[0]
    assert [text.get_text() for text in beside.get_yticklabels()] == ["a", "b"]
    assert beside.get_xlabel().startswith("time, mean of NPUs (")
    assert names_of([first["a"], second["a"]]) == ["dcqcn/job-a", "hpcc/job-a"]
    alone = first["a"].plot.exposed()
    assert alone.get_suptitle() == "a (dcqcn/job-a): exposed"
    assert [text.get_text() for text in alone.axes[0].get_yticklabels()] == ["mean of a"]
    first["a"].metadata["run_name"] = "mine"  # as --run-name has it
    assert names_of([first["a"], first["b"]]) == ["mine/a", "b"]


def test_runs_of_one_name_are_told_apart_by_their_folders(folder: Path, tmp_path: Path) -> None:
    twins = [astra_ns3.Result.load(shutil.copytree(folder, tmp_path / name)) for name in ("tcp", "roce")]
    again = astra_ns3.Result.load(shutil.copytree(folder, tmp_path / "other" / "roce"))
    unsaved = astra_ns3.run(**small_run(), run_name="another")
    assert names_of([twins[0], unsaved]) == [str(twins[0].metadata["run_name"]), "another"]
    assert names_of(twins) == ["tcp", "roce"]
    assert names_of([*twins, again]) == ["1: tcp", "2: roce", "3: roce"]


def test_widths_are_words_or_inches() -> None:
    assert [width_of(word) for word in ("column", "double", "5", 4.5)] == [3.3, 7.0, 5.0, 4.5]
    for word in ("wide", "0", "-1", "nan", "inf"):
        with pytest.raises(InputError, match=f"width '{word}' is not one of column, double or inches"):
            width_of(word)


def test_the_levels_of_a_network_are_found_from_its_ports(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    links = [("host0", "switch0"), ("host1", "switch1"), ("switch0", "switch2"), ("switch1", "switch2")]
    count = dict.fromkeys(("host0", "host1", "switch0", "switch1", "switch2"), 0)
    ports = {}
    for link in links:
        for node, peer in (link, link[::-1]):
            ports[f"{node}:{count[node]}".removesuffix(":0" if node.startswith("host") else "?")] = peer
            count[node] += 1
    lines = ["port,link_to", *(f"{port},{peer}" for port, peer in ports.items())]
    (path / "switch.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = levels(astra_ns3.Result.load(path), reversed(list(ports)))
    assert [(level.name, level.ports) for level in found] == [
        ("NICs", ("host0", "host1")),
        ("level 1 down", ("switch0:0", "switch1:0")),
        ("level 1 up", ("switch0:1", "switch1:1")),
        ("level 2 down", ("switch2:0", "switch2:1")),
    ]


def test_ports_of_links_inside_nodes_are_no_nics(tmp_path: Path) -> None:
    """Two nodes of two NPUs on two rails: hosts 0 to 3, leaves 0 and 1, spine 2, and in the nodes switches 3 and 4."""
    path = run_folder(tmp_path)
    document = json.loads((path / "run.json").read_text(encoding="utf-8"))
    link = {"rate": "100Gbps", "delay": "1us"}
    document["network"]["topology"] = {
        "kind": "rail-optimised",
        "nodes": 2,
        "npus_per_node": 2,
        "spines": 1,
        "link": link,
        "switch": {"buffer": "1MB"},
        "scale_up": {"link": link, "switch": {"buffer": "1MB"}},
    }
    (path / "run.json").write_text(json.dumps(document), encoding="utf-8")
    peers = {f"host{npu}:0": f"switch{npu % 2}" for npu in range(4)}
    peers |= {f"host{npu}:1": f"switch{3 + npu // 2}" for npu in range(4)}
    peers |= {f"switch{leaf}:{node}": f"host{2 * node + leaf}" for leaf in (0, 1) for node in (0, 1)}
    peers |= {f"switch{leaf}:2": "switch2" for leaf in (0, 1)} | {f"switch2:{leaf}": f"switch{leaf}" for leaf in (0, 1)}
    peers |= {f"switch{3 + node}:{npu}": f"host{2 * node + npu}" for node in (0, 1) for npu in (0, 1)}
    lines = ["port,link_to", *(f"{port},{peer}" for port, peer in peers.items())]
    (path / "switch.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert {level.name: level.ports for level in levels(astra_ns3.Result.load(path), peers)} == {
        "NICs": ("host0:0", "host1:0", "host2:0", "host3:0"),
        "scale-up of NPUs": ("host0:1", "host1:1", "host2:1", "host3:1"),
        "level 1 down": ("switch0:0", "switch0:1", "switch1:0", "switch1:1"),
        "level 1 up": ("switch0:2", "switch1:2"),
        "scale-up down": ("switch3:0", "switch3:1", "switch4:0", "switch4:1"),
        "level 2 down": ("switch2:0", "switch2:1"),
    }


def test_ports_of_reducers_and_of_storage_hosts_are_no_nics_and_bring_no_spine_nearer(tmp_path: Path) -> None:
    """Hosts 0 to 3, storage host 4, and reducers 5 to 7 of leaves 0 and 1 and spine 2."""
    path = run_folder(tmp_path)
    document = json.loads((path / "run.json").read_text(encoding="utf-8"))
    document["network"]["topology"] = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 1,
        "hosts_per_leaf": 2,
        "link": {"rate": "100Gbps", "delay": "1us"},
        "switch": {"buffer": "1MB", "reduction": {}},
        "storage": {"per": "fabric", "count": 1, "link": {"rate": "100Gbps", "delay": "1us"}},
    }
    (path / "run.json").write_text(json.dumps(document), encoding="utf-8")
    peers = {f"host{host}": f"switch{host // 2}" for host in range(4)}
    peers |= {"host4": "switch2", "host5": "switch0", "host6": "switch1", "host7": "switch2"}
    for leaf in (0, 1):
        peers |= {f"switch{leaf}:{port}": f"host{2 * leaf + port}" for port in (0, 1)}
        peers |= {f"switch{leaf}:2": "switch2", f"switch{leaf}:3": f"host{5 + leaf}"}
    peers |= {"switch2:0": "switch0", "switch2:1": "switch1", "switch2:2": "host4", "switch2:3": "host7"}
    lines = ["port,link_to", *(f"{port},{peer}" for port, peer in peers.items())]
    (path / "switch.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert {level.name: level.ports for level in levels(astra_ns3.Result.load(path), peers)} == {
        "NICs": ("host0", "host1", "host2", "host3"),
        "storage hosts": ("host4",),
        "reducers": ("host5", "host6", "host7"),
        "level 1 down": ("switch0:0", "switch0:1", "switch1:0", "switch1:1"),
        "level 1 up": ("switch0:2", "switch1:2"),
        "level 1 to reducers": ("switch0:3", "switch1:3"),
        "level 2 down": ("switch2:0", "switch2:1"),
        "level 2 to storage": ("switch2:2",),
        "level 2 to reducers": ("switch2:3",),
    }


def test_rates_of_ports_are_those_of_their_links(folder: Path) -> None:
    ports = [f"host{npu}" for npu in range(4)] + [f"switch0:{npu}" for npu in range(4)]
    found = paces(astra_ns3.Result.load(folder))
    assert {port: pace.built_bps for port, pace in found.items()} == dict.fromkeys(ports, 100 * GBPS)


def test_rates_that_events_give_count_from_a_jobs_start_and_the_last_to_begin_holds(folder: Path) -> None:
    run = astra_ns3.Result.load(folder)
    slow = {"event": 0, "name": "host 0 - switch 0", "link": 0, "start_ps": 1000, "end_ps": 1400, "rate_bps": 50 * GBPS}
    slower = {**slow, "event": 1, "start_ps": 1100, "end_ps": 1200, "rate_bps": 10 * GBPS, "every_ps": 200, "times": 2}
    document: Any = {**run.metadata, "job": {"start_ps": 1000}, "events": [slower, slow]}
    pace = paces(astra_ns3.Result(document, Files(folder=folder), folder))["host0"]
    edges = np.array([-100, 0, 100, 200, 300, 400, 600])
    assert pace.mean_bps(edges[:-1], edges[1:]).tolist() == [rate * GBPS for rate in (100, 50, 10, 50, 10, 100)]
    assert pace.mean_bps(edges[[1]], edges[[3]]).tolist() == [30 * GBPS]


def test_without_what_npus_did_the_timeline_has_collectives_and_says_so(tmp_path: Path, command: Any) -> None:
    path = run_folder(tmp_path)
    collectives = astra_ns3.Result.load(path).collectives
    spans = [lane.get_paths()[0].get_extents() for lane in picture(path, "timeline").axes[0].collections]
    assert [span.x0 for span in spans] == pytest.approx(collectives["start_us"].tolist())
    assert [span.width for span in spans] == pytest.approx(collectives["duration_us"].tolist())
    _, out, _ = command("plot", str(path), "timeline", "-o", str(tmp_path / "t.png"))
    assert "more is shown with --record timeline" in out


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_command_writes_each_format_the_same_each_time(
    ending: str, folder: Path, tmp_path: Path, command: Any
) -> None:
    heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for file in files:
        status, out, _ = command("plot", str(folder), "layers", "-o", str(file))
        assert (status, out) == (0, f"written to {file}\n")
        assert file.read_bytes().startswith(heads[ending])
    assert files[0].read_bytes() == files[1].read_bytes()


def test_without_a_file_the_picture_has_the_name_of_its_kind(
    folder: Path, tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = command("plot", str(folder), "exposed", "--json")
    assert (status, json.loads(out)["written"]) == (0, "exposed.png")
    assert (tmp_path / "exposed.png").is_file()


def test_titles_may_be_given_or_left_out(folder: Path, tmp_path: Path, command: Any) -> None:
    for words, shown in (
        (["--title", "Mine & <yours>"], "Mine &amp; &lt;yours&gt;"),
        (["--no-title"], None),
        ([], ": layers"),
    ):
        file = tmp_path / "picture.svg"
        assert command("plot", str(folder), "layers", "-o", str(file), "--overwrite", *words)[0] == 0
        text = file.read_text(encoding="utf-8")
        assert (shown in text) if shown else (": layers" not in text)


def test_without_a_kind_what_can_be_drawn_is_listed(tmp_path: Path, folder: Path, command: Any) -> None:
    status, out, _ = command("plot", str(folder))
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == NAMES
    status, out, _ = command("plot", str(run_folder(tmp_path)))
    can, cannot = out.split("not recorded:\n")
    assert [line.split()[0] for line in can.splitlines()] == ["layers", "exposed", "timeline", "bandwidth"]
    needs = {line.split()[0]: line.split("needs ")[1] for line in cannot.splitlines()}
    assert needs["completion"] == "--record flows"
    assert needs["queues"] == "observe.queues or observe.pauses in the network file"
    status, out, _ = command("plot", str(tmp_path / "out"), "--json")
    told = {kind["kind"]: kind["needs"] for kind in json.loads(out)["kinds"]}
    assert told == {**dict.fromkeys(NAMES), **needs}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["laiers"], "picture 'laiers' is not one of layers, exposed, .*; did you mean 'layers'?"),
        (["layers", "-o", "x.gif"], r"x\.gif: a picture's file ends in \.png, \.svg, \.pdf"),
        (["layers", "-o", "/proc/none/x.png"], "/proc/none/x.png: cannot be written"),
        (["layers", "--width", "wide"], "width 'wide'"),
        (["layers", "--title", "a", "--no-title"], "exclude each other"),
        (["--select", "0"], "which picture"),
    ],
)
def test_a_wrong_word_is_one_line(
    words: list[str], said: str, folder: Path, command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import re

    monkeypatch.chdir(tmp_path)
    status, _, err = command("plot", str(folder), *words)
    assert (status, err.count("\n")) == (2, 1)
    assert re.search(said, err)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_matplotlib_says_how_to_install_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match="'pip install matplotlib' gives it"):
        picture(folder, "layers")
