"""A study's points: which there are, and what each of them runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.studies import BASE, INPUTS, expanded, study_of, written
from support.transports import transport_of

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.errors import InputError
from astra_ns3.experiments.hooks import HookFile
from astra_ns3.experiments.request import RunRequest
from astra_ns3.studies import sources
from astra_ns3.studies.columns import columns_of
from astra_ns3.studies.expansion import Point, expand
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.records import check_records
from astra_ns3.studies.file import StudyConfig, read_study
from astra_ns3.studies.only import chosen_by

CONTROL = "network.transport.congestion_control"
BUFFER = "network.topology.switch.buffer"


def network_of(point: Point) -> NetworkConfig:
    network = point.request.network
    assert isinstance(network, NetworkConfig)
    return network


def control_of(point: Point) -> str:
    roce = transport_of(network_of(point), RoceTransport)
    assert roce is not None
    return roce.congestion_control.kind


def the_point(study: dict[str, Any], **words: Any) -> Point:
    (point,) = expanded(study, **words).points
    return point


def labels(study: dict[str, Any], **words: Any) -> list[tuple[Any, ...]]:
    return [tuple(point.labels.values()) for point in expanded(study, **words).points]


def test_a_product_has_every_value_with_every_other() -> None:
    study = study_of(one={"passes": [1, 2], "scale": [0.5, 1.0, 2.0]})
    assert labels(study) == [(passes, scale) for passes in (1, 2) for scale in (0.5, 1.0, 2.0)]


def test_a_warning_of_a_file_of_some_points_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    read = sources._READERS["network"]
    told = ("no pfc",)
    monkeypatch.setitem(
        sources._READERS, "network", lambda path: replace(read(path), warnings=told * ("roce-16.yaml" in path))
    )
    networks = [str(INPUTS / "network/single-switch-16.yaml"), BASE["network"]]
    study = expanded(study_of(one={"axes": {"network": networks, "passes": [1, 2, 3, 4]}}))
    names = [point.name for point in study.points if "roce-16" in point.name]
    assert len(names) == 4
    assert study.warnings == (f"no pfc (in {'; '.join(names[:3])} and 1 more)",)
    assert expanded(study_of(one={"passes": [1, 2]})).warnings == told


def test_one_at_a_time_leaves_the_base_case_by_one_axis() -> None:
    study = study_of(one={"axes": {"passes": [1, 2], "scale": [0.5, 1.0]}, "combine": "one-at-a-time"})
    assert labels(study) == [(1, 0.5), (2, 0.5), (1, 1.0)]


def test_together_goes_through_all_axes_in_step() -> None:
    study = study_of(one={"axes": {"passes": [1, 2], "scale": [0.5, 1.0]}, "combine": "together"})
    assert labels(study) == [(1, 0.5), (2, 1.0)]
    study = study_of(one={"axes": {"passes": [1, 2], "scale": [0.5]}, "combine": "together"})
    with pytest.raises(InputError, match="need equally many values, found passes 2, scale 1"):
        expanded(study)


def test_each_point_is_played_with_each_seed() -> None:
    study = {**study_of(one={"passes": [1, 2]}), "seeds": [3, 5]}
    points = expanded(study).points
    assert [(point.labels["passes"], point.request.seed) for point in points] == [(1, 3), (1, 5), (2, 3), (2, 5)]
    assert len({point.address for point in points}) == 4


def test_what_is_said_later_goes_before_what_is_said_earlier() -> None:
    levels = ["base", "preset", "part", "preset's part", "axis"]
    for count in range(1, len(levels) + 1):
        said = {name: {"passes": place + 1} if place < count else {} for place, name in enumerate(levels)}
        study = {
            **study_of(said["base"], one={"base": said["part"], "axes": {"a": {"x": said["axis"]}}}),
            "presets": {"laptop": {"base": said["preset"], "parts": {"one": {"base": said["preset's part"]}}}},
        }
        assert the_point(study).request.passes == count


def test_the_seeds_and_limits_of_a_preset_s_part_go_first() -> None:
    study = {
        **study_of(one={"axes": {}, "seeds": 2, "limits": {"memory": "2GiB"}}),
        "seeds": 3,
        "limits": {"wall_time": "1s", "memory": "1GiB"},
        "presets": {"paper": {"seeds": 4, "parts": {"one": {"seeds": 1, "limits": {"wall_time": "5s"}}}}},
    }
    assert len(expanded(study).points) == 2
    limits = the_point(study, preset="paper").request.limits
    assert limits is not None
    assert (limits.wall_seconds, limits.memory_bytes) == (5.0, 2 * 2**30)


def test_seeds_of_a_part_go_before_those_of_a_preset_and_these_before_those_of_the_study() -> None:
    parts: dict[str, Any] = {"own": {"axes": {"passes": [1]}, "seeds": 2}, "other": {"passes": [2]}}
    study = {**study_of(**parts), "seeds": 3, "presets": {"paper": {"seeds": 4}}}
    found = Counter(point.part for point in expanded(study, preset="paper").points)
    assert found == {"own": 2, "other": 4}


def test_two_parts_that_share_a_run_must_limit_it_alike() -> None:
    limited = {"axes": {"passes": [1]}, "limits": {"simulated_time": "1us"}}
    with pytest.raises(InputError, match=r"'.*' is the same run as '.*', with other limits: give both the same"):
        expanded(study_of(one={"passes": [1, 2]}, two=limited))
    assert len(expanded(study_of(one=limited, two=limited)).points) == 2


def test_a_key_replaces_the_keys_below_it_that_were_said_before() -> None:
    base = {f"{CONTROL}.rate_ai": "50Mbps", CONTROL: "dcqcn"}
    assert control_of(the_point(study_of(base))) == "dcqcn"
    study = study_of(base, one={CONTROL: ["swift"]})
    assert control_of(the_point(study)) == "swift"


def test_of_one_level_the_shorter_key_is_changed_first() -> None:
    base = {f"{CONTROL}.parameters": "paper", CONTROL: {"kind": "timely"}}
    roce = transport_of(network_of(the_point(study_of(base))), RoceTransport)
    assert roce is not None
    assert roce.congestion_control.document()["parameters"] == "paper"
    assert roce.congestion_control.kind == "timely"


def test_changes_of_keys_are_made_to_whichever_file_a_point_reads() -> None:
    networks = {name: {"network": str(INPUTS / f"network/{name}.yaml")} for name in ("roce-16", "roce-leaf-spine-32")}
    points = expanded(study_of({CONTROL: "hpcc"}, one={"fabric": networks})).points
    assert [(network_of(point).npus, control_of(point)) for point in points] == [(16, "hpcc"), (32, "hpcc")]


@pytest.mark.parametrize("said", [None, 0])
def test_what_follows_from_a_key_follows_from_its_new_value(said: int | None) -> None:
    """HPCC's telemetry comes with it, whether the network leaves it open or gives that of DCQCN, which has none."""
    topology = {"kind": "single-switch", "npus": 16, "link": {"rate": "100Gbps", "delay": "1us"}}
    topology["switch"] = {"buffer": "32MiB"}
    transport = {"kind": "roce", "telemetry_bytes": said, "congestion_control": "dcqcn"}
    base = {"network": {"topology": topology, "transport": transport}, CONTROL: "hpcc"}
    roce = transport_of(network_of(the_point(study_of(base))), RoceTransport)
    assert roce is not None
    assert roce.telemetry_bytes is None
    assert roce.congestion_control.telemetry_bytes == 42


@pytest.mark.parametrize(("name", "telemetry"), [("additive.hpp:Additive", 100), ("additive.hpp:Other", None)])
@pytest.mark.parametrize("absolute", [False, True])
def test_an_own_control_by_another_path_to_the_same_file_keeps_the_telemetry(
    name: str, telemetry: int | None, absolute: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "additive.hpp").write_text("")
    monkeypatch.chdir(folder if absolute else tmp_path)
    topology = {"kind": "single-switch", "npus": 16, "link": {"rate": "100Gbps", "delay": "1us"}}
    topology["switch"] = {"buffer": "32MiB"}
    control = "additive.hpp:Additive" if absolute else "study/additive.hpp:Additive"
    transport = {"kind": "roce", "telemetry_bytes": 100, "congestion_control": {"kind": control}}
    file = written(folder, {"topology": topology, "transport": transport}, "own.yaml")
    path = written(folder, study_of({"network": str(file), CONTROL: f"{folder}/{name}" if absolute else name}))
    (point,) = expand(read_study(path), "laptop", ()).points
    roce = transport_of(network_of(point), RoceTransport)
    assert roce is not None
    assert roce.telemetry_bytes == telemetry


def test_a_hierarchical_network_has_as_many_nodes_as_are_said() -> None:
    """Its outer part has so many ends as nodes and NICs make, also where the number of nodes is changed."""
    base = {"network": str(INPUTS / "network/hier.yaml"), "network.topology.nodes": 4}
    assert network_of(the_point(study_of(base))).npus == 32


def test_minus_and_underscore_are_alike() -> None:
    study = study_of({"system.active_chunks_per_dimension": 3, "num-queues-per-dimension": 2, "comm-scale": 0.5})
    request = the_point(study).request
    assert request.system.active_chunks_per_dimension == 3  # type: ignore[union-attr]
    assert (request.num_queues_per_dimension, request.comm_scale) == (2, 0.5)


def test_the_text_of_astra_sim_is_changed_by_its_keys() -> None:
    study = study_of({"system": str(INPUTS / "system/flat.txt"), "system.all-reduce-implementation": "direct"})
    assert the_point(study).request.system.all_reduce == ("direct",)  # type: ignore[union-attr]


def test_layers_are_named_by_name_by_number_or_all() -> None:
    dlrm = {"workload": str(INPUTS / "workload/DLRM_HybridParallel.txt")}
    before = the_point(study_of(dlrm)).request.workload
    name = before.layers[1].name  # type: ignore[union-attr]
    changes = {
        "workload.layers.*.weight_gradient.bytes": "4MiB",
        f"workload.layers.{name}.forward.compute_ns": "3us",
        "workload.layers.0.update_ns": 7,
    }
    after = the_point(study_of({**dlrm, **changes})).request.workload
    assert after.layers[1].forward.compute_ns == 3000  # type: ignore[union-attr]
    assert after.layers[0].update_ns == 7  # type: ignore[union-attr]
    for old, new in zip(before.layers, after.layers, strict=True):  # type: ignore[union-attr]
        expected = 4 * 2**20 if old.weight_gradient.collective is not None else 0
        assert new.weight_gradient.bytes == expected


def test_a_collective_is_changed_by_its_name() -> None:
    study = study_of({"workload.layers.all_reduce.weight_gradient.collective": "ALLTOALL"})
    layer = the_point(study).request.workload.layers[0]  # type: ignore[union-attr]
    assert layer.weight_gradient.collective is CollectiveKind.ALL_TO_ALL


@pytest.mark.parametrize("inline", [False, True])
def test_an_analytical_network_s_own_keys_can_be_an_axis(inline: bool, tmp_path: Path) -> None:
    network: dict[str, Any] = {"topology": ["Ring"], "npus_count": [8], "bandwidth": [50.0], "latency": [500.0]}
    file = str(written(tmp_path, network, "ring.yml"))
    base = {"network": network if inline else file, "backend": "analytical"}
    grids = [
        point.request.network.grid  # type: ignore[union-attr]
        for point in expanded(study_of(base, one={"network.bandwidth": [[50.0], [100.0]]})).points
    ]
    assert [grid[0].bytes_per_ns for grid in grids] == pytest.approx([50 * 2**30 / 1e9, 100 * 2**30 / 1e9])
    with pytest.raises(InputError, match=r"study.yaml:\d+: key 'bandwidth.0': found -1"):
        expand(read_study(written(tmp_path, study_of({**base, "network.bandwidth": [-1]}))))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"workload.layers.al_reduce.update_ns": 1},
            "has no entry 'al_reduce', expected 0 to 0, *, or a name: all_red",
        ),
        ({"workload.layers.0.forward.byte": 1}, "key 'layers.0.forward.byte': unknown key; allowed: compute_ns, coll"),
        ({"workload.layers.0.weight_gradient.collective": "RING"}, "found 'RING', allowed: NONE, ALLREDUCE"),
        ({"workload.loop": "DATTA"}, "key 'loop': found 'DATTA', allowed: "),
        ({"system.scheduling-policy": "FILO"}, "key 'scheduling-policy': found 'FILO', allowed: "),
        ({"network.transport.windw": 1}, "key 'transport.windw': unknown key"),
    ],
)
def test_a_change_that_can_t_be_made_is_told(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        expand(read_study(written(tmp_path, study_of(change))))
    assert str(caught.value).startswith(f"{tmp_path}/study.yaml:5: ")
    assert said in str(caught.value)


def test_a_size_of_a_pass_without_a_collective_is_refused() -> None:
    with pytest.raises(InputError, match=r"layers.0.forward.*: a pass without a collective has 5 bytes"):
        expanded(study_of({"workload.layers.0.forward.bytes": 5}))


def test_names_shorten_columns() -> None:
    study = {**study_of(one={CONTROL: ["none"]}), "names": {CONTROL: "control"}}
    point = the_point(study)
    assert dict(point.labels) == {"control": "none"}
    assert point.name == "part one, control none, seed 1"


def test_labels_of_an_axis_that_is_a_key_stand_for_its_values() -> None:
    point = the_point(study_of(one={"passes": {"many": 3}}))
    assert (point.labels["passes"], point.request.passes) == ("many", 3)


def test_a_file_on_an_axis_is_called_by_its_name() -> None:
    study = study_of(one={"network": [str(INPUTS / f"network/{name}.yaml") for name in ("roce-16", "roce-lossy")]})
    assert labels(study) == [("roce-16",), ("roce-lossy",)]


def test_two_axes_can_t_say_different_things_of_one_key() -> None:
    study = study_of(one={"passes": [1, 2], "other": {"x": {"num-passes": 3}}})
    with pytest.raises(InputError, match="two of the axes passes, other set 'num-passes' to different values"):
        expanded(study)


def test_equal_points_of_two_parts_are_one_run() -> None:
    study = study_of(one={"passes": [1, 2]}, two={"num-passes": [2, 3]})
    expansion = expanded(study)
    assert len(expansion.points) == 4
    assert len(expansion.tasks("store")) == 3
    assert {task.store for task in expansion.tasks("store")} == {"store"}


def preset_study() -> dict[str, Any]:
    fabrics = {name: {"network": str(INPUTS / f"network/{name}.yaml")} for name in ("roce-16", "roce-lossy")}
    presets: dict[str, Any] = {
        "laptop": {"parts": {"one": {"axes": {"scale": [0.1], "fabric": ["roce-lossy"]}}, "two": {"skip": True}}},
        "paper": {},
    }
    return {**study_of(one={"scale": [1.0, 2.0], "fabric": fabrics}, two={"passes": [1]}), "presets": presets}


def test_a_preset_has_other_values_and_leaves_parts_out() -> None:
    assert labels(preset_study()) == [(0.1, "roce-lossy")]
    assert len(expanded(preset_study(), "paper").points) == 5


@pytest.mark.parametrize(
    ("preset", "said"),
    [
        ({"parts": {"on": {}}}, "preset 'laptop' names part 'on', expected one of one, two; did you mean 'one'?"),
        ({"parts": {"one": {"axes": {"scael": [1]}}}}, "axis 'scael' is not one of the part's: part 'one' has scale"),
        ({"parts": {"one": {"axes": {"fabric": ["roce"]}}}}, "axis 'fabric': 'roce' is not one of roce-16, roce-lossy"),
    ],
)
def test_a_preset_that_names_what_isn_t_there_is_refused(preset: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        expanded({**preset_study(), "presets": {"laptop": preset}})
    assert said in str(caught.value)


def test_a_preset_that_isn_t_there_is_refused_but_for_the_usual_one() -> None:
    assert expanded(study_of()).preset == ""
    with pytest.raises(InputError, match="preset 'papper' is not one of laptop, paper; did you mean 'paper'"):
        expanded(preset_study(), "papper")


def test_only_takes_the_longest_axis_that_its_word_begins_with() -> None:
    points: list[dict[str, str | int | float]] = [
        {"a": "b=1", "a=b": 1},
        {"a": "b=2", "a=b": 2},
        {"a": "b=1", "a=b": 2},
    ]
    assert list(map(chosen_by("a=b=1", points, {}), points)) == [True, False, False]


def test_only_takes_points_with_one_of_the_values_of_each_axis_it_names() -> None:
    study = study_of(one={"passes": [1, 2, 3], "scale": [0.5, 1.0]}, two={"passes": [1]})
    assert labels(study, only=["passes=1", "passes=2", "scale=1"]) == [(1, 1.0), (2, 1.0)]
    assert labels(study, only=["part=two"]) == [(1,)]
    assert labels({**study, "seeds": 3}, only=["part=two", "seed=3"]) == [(1,)]


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ("pases=1", "only 'pases=1': expected AXIS=VALUE, AXIS one of part, passes, seed; did you mean 'passes'?"),
        ("passes", "only 'passes': expected AXIS=VALUE"),
        ("passes=4", "only 'passes=4': passes is one of 1, 2"),
    ],
)
def test_only_names_axes_and_values_that_there_are(only: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        expanded(study_of(one={"passes": [1, 2]}), only=[only])
    assert str(caught.value).startswith(said)


def test_paths_begin_at_the_folder_of_the_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    for name in ("policy.py", "hook.py", "tree.csv"):
        (tmp_path / "mine" / name).write_text("def first(*a): ...\ndef on_built(context): ...\n", encoding="utf-8")
    (tmp_path / "mine" / "flat.yaml").write_bytes((INPUTS / "system/flat.yaml").read_bytes())
    base = {
        "system": "flat.yaml",
        "system.intra-dimension-scheduling": "policy.py:first",
        "scheduling_policy": "policy.py:first",
        "system.all-reduce-implementation": "file:tree.csv",
        "hook": "hook.py",
    }
    path = written(tmp_path / "mine", study_of(base))
    monkeypatch.chdir(tmp_path)
    request = expand(read_study(path)).points[0].request
    own = f"{tmp_path}/mine/policy.py:first"
    assert request.scheduling_policy == own
    assert request.system.intra_dimension_scheduling == own  # type: ignore[union-attr]
    assert request.system.all_reduce == (f"file:{tmp_path}/mine/tree.csv",)  # type: ignore[union-attr]
    assert isinstance(request.on_built, HookFile)
    assert request.on_built.path == f"{tmp_path}/mine/hook.py"


def test_the_rules_that_a_file_of_another_program_brings_come_with_it(tmp_path: Path) -> None:
    (tmp_path / "topology.txt").write_text("3 1 2\n0\n1 0 100Gbps 0.001ms 0\n2 0 100Gbps 0.001ms 0\n", encoding="utf-8")
    keys = {"ENABLE_QCN": 1, "CC_MODE": 3, "TOPOLOGY_FILE": "topology.txt", "PACKET_PAYLOAD_SIZE": 1000,
            "L2_ACK_INTERVAL": 1, "MIN_RATE": "100Mb/s", "BUFFER_SIZE": 16, "FAST_REACT": 1, "U_TARGET": 0.95,
            "MI_THRESH": 0, "INT_MULTI": 1, "MULTI_RATE": 0, "RATE_AI": "50Mb/s", "RATE_HAI": "100Mb/s",
            "KMAX_MAP": "1 100000000000 1600", "KMIN_MAP": "1 100000000000 400",
            "PMAX_MAP": "1 100000000000 0.2"}  # fmt: skip
    text = "".join(f"{key} {value}\n" for key, value in keys.items())
    (tmp_path / "config.txt").write_text(text, encoding="utf-8")
    base = {"network": str(tmp_path / "config.txt"), BUFFER: "1MiB"}
    point = the_point(study_of(base))
    assert point.request.compat == "astra-network-ns3"
    topology: Any = network_of(point).topology
    assert topology.switch.buffer_bytes == 2**20
    assert topology.path == str(tmp_path / "topology.txt")


def test_hundreds_of_points_are_expanded_in_a_second_or_two() -> None:
    """Each file is read once, each set of changes made once: 600 points read three files and parse 20 networks."""
    axes = {CONTROL: ["none", "dcqcn", "swift", "hpcc"], BUFFER: [f"{size}MiB" for size in range(1, 6)],
            "passes": [1, 2, 3]}  # fmt: skip
    expansion = expanded({**study_of(one=axes), "seeds": 10})
    assert len({point.address for point in expansion.points}) == 600
    assert len({id(point.request.network) for point in expansion.points}) == 20
    assert len({id(point.request.system) for point in expansion.points}) == 1


def refused(study: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        expanded(study)
    return str(caught.value)


@pytest.mark.parametrize("name", ["a/b", "../out", ".hidden", "a b", "-a", "", "a\\b"])
def test_parts_figures_and_presets_are_called_as_files_are(name: str) -> None:
    whole = {"base": BASE, "parts": {"one": {}}}
    assert "it names files" in refused({**whole, "parts": {name: {}}})
    assert "it names files" in refused({**whole, "presets": {name: {}}})
    assert "it names files" in refused({**whole, "parts": {"one": {"figures": {name: {"kind": "bars"}}}}})


def test_no_two_figures_are_one_file() -> None:
    bars = {"kind": "bars"}
    parts = {"a-b": {"figures": {"c": bars}}, "a": {"figures": {"b-c": bars}}}
    found = refused({"base": BASE, "parts": parts})
    assert "figure 'b-c' of part 'a' would be the file a-b-c, as figure 'c' of part 'a-b'" in found


def test_too_many_points_are_refused_before_they_are_made() -> None:
    thousands = {"passes": list(range(1, 3001)), "report_npu": list(range(4000))}
    assert "12,000,000 points (passes 3000, report_npu 4000, seed 1), expected at most 100,000" in refused(
        study_of(None, big=thousands)
    )
    assert "expected at most 100000 seeds" in refused({**study_of(), "seeds": 100_000_000})


def test_an_odd_key_is_told_by_its_line(tmp_path: Path) -> None:
    for key, words in (("network..passes", "between two dots"), ("network.topology.kind.x", "'topology.kind'")):
        path = written(tmp_path, study_of({key: 1}))
        with pytest.raises(InputError, match=words) as caught:
            expand(read_study(path))
        assert str(caught.value).startswith(f"{path}:5: key ")


def test_only_takes_axes_and_labels_with_blanks_and_equal_signs() -> None:
    labels = {"one chunk=1": {"passes": 1}, "two": {"passes": 2}}
    study = study_of(None, a={"the axis": labels, "b=c": {"x": {"scale": 1.0}, "y": {"scale": 2.0}}})
    assert len(expanded(study, only=["the axis=one chunk=1", "b=c=y"]).points) == 1


def test_windows_line_ends_and_blanks_in_paths_play_no_part(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    path = written(folder, study_of(None, a={"passes": [1, 2]}))
    before = [point.address for point in expand(read_study(path)).points]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert [point.address for point in expand(read_study(path)).points] == before


def test_degrees_of_a_model_are_axes() -> None:
    points = expand(read_study(INPUTS / "studies/degrees.yaml"), "laptop").points
    found = [point.request.workload.file.parallel for point in points]  # type: ignore[union-attr]
    assert [(keys.tensor, keys.pipeline, keys.zero) for keys in found] == [
        (tensor, pipeline, zero) for tensor, pipeline in ((1, 1), (4, 1), (1, 4), (2, 2)) for zero in (0, 1)
    ]


def test_a_column_is_called_by_the_last_word_of_its_key() -> None:
    point = the_point(study_of(one={CONTROL: ["none"], "network.topology.switch.buffer": ["1MiB"], "passes": [1]}))
    assert dict(point.labels) == {"congestion_control": "none", "buffer": "1MiB", "passes": 1}


def test_keys_with_one_last_word_are_called_by_as_many_words_as_tell_them_apart() -> None:
    one, other = "system.one.delay", "network.other.delay"
    study = StudyConfig.model_validate(study_of(a={one: [1]}, b={other: [1], "network.topology.kind": ["ring"]}))
    assert columns_of(study, study.parts["a"]) == {one: "one.delay"}
    assert columns_of(study, study.parts["b"]) == {other: "other.delay", "network.topology.kind": "topology.kind"}
    inside, between = (f"network.topology.scale_{way}.link.rate" for way in ("up", "out"))
    rates = StudyConfig.model_validate(study_of(a={inside: ["1Gbps"], between: ["2Gbps"]}))
    assert columns_of(rates, rates.parts["a"]) == {inside: "scale_up.link.rate", between: "scale_out.link.rate"}


def test_values_without_labels_are_called_by_what_they_change() -> None:
    degrees = [{"workload.parallel.tensor": 1, "passes": 2}, {"workload.parallel.tensor": 4}]
    model = {"workload": str(INPUTS / "workload/models/llama-3-8b.yaml"), "workload.model.layers": 8}
    expansion = expanded(study_of(model, one={"degrees": degrees}))
    assert [point.labels for point in expansion.points] == [{"degrees": "tensor 1, passes 2"}, {"degrees": "tensor 4"}]
    assert [point.request.passes for point in expansion.points] == [2, 1]


@pytest.mark.parametrize("value", [["one"], {"one": 1}, None])
def test_a_preset_s_value_that_is_no_label_is_refused(value: Any) -> None:
    study = study_of(one={"size": {"one": {"passes": 1}, "two": {"passes": 2}}})
    study["presets"] = {"laptop": {"parts": {"one": {"axes": {"size": [value]}}}}}
    with pytest.raises(InputError, match=r"axis 'size': '.*' is not one of one, two"):
        expanded(study)


def test_a_figure_of_waiting_or_computing_is_refused_where_a_point_plays_a_list_of_flows() -> None:
    flows = FlowList.of([0], [1], [1], [0])
    for measure in ("exposed_us", "compute_us"):
        figures = {"waits": FigureConfig.model_validate({"kind": "bars", "y": ["finish_us", measure]})}
        with pytest.raises(InputError, match=f"figure 'waits': point p plays a list of flows, which has no {measure}"):
            check_records(figures, [("p", RunRequest(workload=flows, system="", network=""))], "part one")


@pytest.mark.parametrize(
    ("base", "measure", "said"),
    [
        (
            {"scenario": "pair.yaml"},
            "bus_bandwidth_gbytes_per_s",
            "plays a scenario, which has no bus_bandwidth_gbytes",
        ),
        ({"scenario": "pair.yaml"}, "tokens_per_second", "plays a scenario, which has no tokens_per_second"),
        ({"scenario": "pair.yaml"}, "slowdown_p99", "slowdown_p99 of a scenario is that of its traffic, which point"),
        ({}, "job_1_us", "plays a job alone, which has no job_1_us"),
        ({"scenario": "pair.yaml"}, "job_1_us", None),
        ({"scenario": "background.yaml"}, "slowdown_p99", None),
        ({}, "bus_bandwidth_gbytes_per_s", None),
    ],
)
def test_a_figure_of_what_a_scenario_or_a_job_alone_has_not_is_refused(
    base: dict[str, str], measure: str, said: str | None
) -> None:
    files = {key: str(INPUTS / "scenarios" / name) for key, name in base.items()}
    part = {"axes": {"scale": [0.5]}, "figures": {"one": {"kind": "bars", "y": measure}}}
    study = study_of(one=part)
    study["base"] = {**(files or study["base"]), "record": ["flows"]}
    if said is None:
        assert expanded(study).points
    else:
        with pytest.raises(InputError, match=f"figure 'one': .*{said}"):
            expanded(study)


def test_a_figure_of_a_table_that_is_not_recorded_is_refused() -> None:
    figure = {"tail": {"kind": "bars", "y": "slowdown_p99"}}
    said = "slowdown_p99 needs record 'flows', which point part one, passes 1, seed 1 hasn't"
    with pytest.raises(InputError, match=said):
        expanded(study_of(one={"axes": {"passes": [1]}, "figures": figure}))
    assert expanded(study_of({"record": ["flows"]}, one={"axes": {"passes": [1]}, "figures": figure})).points
