"""What ``validate`` foretells, against closed forms and against what the fake backend then plays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.fake_backend import FakeBackend
from support.many_networks import leaf_spine
from support.models import small_gpt
from support.small_run import NPUS, small_network, small_run, small_system, small_workload, write_inputs

import astra_ns3
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.experiments.forecasting import costs, traffic
from astra_ns3.experiments.forecasting.traffic import carried
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.validate import validate
from astra_ns3.report.validation import validation_text
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

ALL_TO_ALL = "MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLTOALL 40000 0\n"


def test_ring_all_reduce_is_counted_by_its_closed_form() -> None:
    # Per pass two collectives of two chunks; a ring of n: 2(n-1) messages a rank. 4000 bytes: 2 chunks of 2000, so
    # messages of 500, one packet each; 8000 bytes: messages of 1000, one packet each.
    found = validate(small_workload(), small_system(), small_network(), Options(passes=3)).forecast
    messages = 3 * 2 * 2 * NPUS * 2 * (NPUS - 1)
    assert found.collectives == 6
    assert found.messages == found.packets == messages
    assert found.bytes == 3 * 2 * (NPUS - 1) * (4000 + 8000)
    assert found.connections == NPUS
    assert found.launches == 3 * 2 * 2 * NPUS


def test_collectives_of_one_npu_are_counted_neither_ahead_nor_in_the_run() -> None:
    network = small_network(npus=1)
    assert validate(small_workload(), small_system(), network, Options(passes=3)).forecast.collectives == 0
    result = astra_ns3.run(**{**small_run(), "network": network, "backend": FakeBackend(1)})
    assert len(result.collectives) == 0


def test_messages_between_stages_count_as_collectives_as_in_the_run() -> None:
    # Four stages of one NPU: three micro-batches cross three borders forward and back, and nobody has the same weights.
    model = small_gpt({"layers": 4, "tied_embeddings": False}, {"pipeline": 4}, micro_batches=3)
    found = validate(model, small_system(), small_network()).forecast
    assert NPUS == 4
    assert (found.collectives, found.messages) == (2 * 3 * 3, 2 * 3 * 3)


def test_any_number_of_passes_of_a_model_is_planned_from_few() -> None:
    model = small_gpt({"layers": 4, "tied_embeddings": False}, {"pipeline": 4}, micro_batches=3)
    passes = 10**9  # played through, it would never end
    found = validate(model, small_system(), small_network(), Options(passes=passes)).forecast
    assert (found.collectives, found.messages) == (2 * 3 * 3 * passes, 2 * 3 * 3 * passes)


def test_packets_are_whole_segments_and_messages_inside_a_host_make_none() -> None:
    # Two chunks of 20000 bytes: messages of 5000 bytes, 4 segments of 1460. With two NPUs a host, 4 of the 12
    # ordered pairs share one.
    workload = parse_workload(ALL_TO_ALL)
    assert validate(workload, small_system(), small_network()).forecast.packets == 2 * 12 * 4
    shared = validate(workload, small_system(), small_network(npus_per_host=2))
    assert (shared.hosts, shared.forecast.messages) == (2, 2 * 12)
    assert (shared.forecast.packets, shared.forecast.connections) == (2 * 8 * 4, 8)


def test_a_message_in_parts_opens_a_queue_pair_for_each_of_them() -> None:
    # 12 pairs with two messages each: in turns they use two of 8 queue pairs, in parts all.
    topology = small_network().topology.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    found = {}
    for use in ("turns", "split"):
        transport = {"kind": "roce", "queue_pairs_per_pair": 8, "queue_pair_use": use}
        network = parse_network({"topology": {"kind": "single-switch", **topology}, "transport": transport})
        found[use] = validate(parse_workload(ALL_TO_ALL), small_system(), network).forecast.queue_pairs
    assert found == {"turns": 12 * 2, "split": 12 * 8}


def test_parts_of_a_message_are_whole_packets_each() -> None:
    """Of 8,001 bytes in 8 parts, 7 have a packet of 1,000 bytes and one has two; 3 bytes have no more parts."""
    topology = small_network().topology.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    roce = {"kind": "roce", "payload": 1000, "queue_pairs_per_pair": 8, "queue_pair_use": "split"}
    network = parse_network({"topology": {"kind": "single-switch", **topology}, "transport": roce})
    (found,) = carried(load_inputs(small_workload(), small_system(), network), 1)
    assert found.by.packets(np.array([8000, 8001, 8008, 3])).tolist() == [8, 9, 16, 3]


def test_what_joins_a_pair_is_named_as_its_transport_names_it() -> None:
    inputs = Path(__file__).resolve().parents[3] / "inputs"
    texts = {}
    for system, network in (("flat", "single-switch-16"), ("flat", "roce-16"), ("hier", "hier-mixed")):
        found = validate(
            inputs / "workload" / "micro-all-to-all.txt",
            inputs / "system" / f"{system}.txt",
            inputs / "network" / f"{network}.yaml",
        )
        lines = validation_text(found.document()).splitlines()
        texts[network] = [line.split() for line in lines if line.startswith(("connections", "queue pairs"))]
    # 16 x 15 pairs; among 8 nodes of 4, direct in both dimensions: 32 x 7 over TCP, 32 x 3 over RoCE.
    assert texts == {
        "single-switch-16": [["connections", "240"]],
        "roce-16": [["queue", "pairs", "240"]],
        "hier-mixed": [["connections", "224"], ["queue", "pairs", "96"]],
    }


def test_the_backend_is_launched_as_often_as_foretold() -> None:
    backend = FakeBackend(NPUS)
    astra_ns3.run(**{**small_run(), "backend": backend}, passes=2)
    foretold = validate(small_workload(), small_system(), small_network(), Options(passes=2)).forecast
    assert len(backend.launched) == foretold.launches


def test_estimates_grow_with_the_run() -> None:
    few, many = (
        validate(small_workload(), small_system(), small_network(), Options(passes=n)).forecast for n in (1, 1000)
    )
    assert few.wall_seconds < many.wall_seconds
    assert few.memory_bytes <= many.memory_bytes


def test_packets_of_a_ring_cross_as_many_links_as_its_neighbours_are_apart() -> None:
    # Of 16 NPUs in a ring, 8 on each of two leaves, 2 have their neighbour on the other leaf: 4 links, not 2.
    network = parse_network({"topology": leaf_spine()})
    inputs = load_inputs(small_workload(), small_system(), network)
    (found,) = carried(inputs, 1)
    assert found.links == pytest.approx((14 * 2 + 2 * 4) / 16)


def test_links_are_counted_on_pairs_spread_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    # All-to-all: of the 15 others 7 are on the own leaf. Some of the 240 pairs stand for all.
    network = parse_network({"topology": leaf_spine()})
    inputs = load_inputs(parse_workload(ALL_TO_ALL), small_system(), network)
    exact = (7 * 2 + 8 * 4) / 15
    monkeypatch.setattr(traffic, "MOST_PATHS", 40)
    (found,) = carried(inputs, 1)
    assert found.links == pytest.approx(exact, rel=0.1)


def test_messages_that_run_together_share_packets_of_tcp() -> None:
    # Ring all-reduces of 4000 and 8000 bytes: messages of at most 1000 bytes, less than a packet each.
    inputs = load_inputs(small_workload(), small_system(), small_network())
    (found,) = carried(inputs, 1)
    payload = found.by.transport.payload_bytes
    assert found.packets == found.messages
    assert found.full_packets == pytest.approx(2 * (NPUS - 1) * (4000 + 8000) / payload)


def test_warnings_of_the_transport_are_passed_on(tmp_path: Path) -> None:
    files = write_inputs(tmp_path)
    network = tmp_path / "network.yaml"
    network.write_text(network.read_text().replace("{kind: tcp}", "{kind: tcp, timestamps: true}"))
    assert any("timestamps" in warning for warning in validate(**files).warnings)


def test_bad_passes_are_refused() -> None:
    with pytest.raises(InputError, match="passes is 0"):
        validate(small_workload(), small_system(), small_network(), Options(passes=0))


def test_the_backend_is_launched_as_often_as_foretold_where_groups_play_side_by_side() -> None:
    layer = "x -1 10 ALLREDUCE 4000 10 ALLREDUCE 4000 10 ALLREDUCE 4000 0"
    workload = parse_workload(f"HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n1\n{layer}\n")
    backend = FakeBackend(NPUS)
    astra_ns3.run(**{**small_run(), "workload": workload, "backend": backend})
    foretold = validate(workload, small_system(), small_network()).forecast
    assert len(backend.launched) == foretold.launches > 0


def test_a_window_bounds_the_memory_that_is_foretold() -> None:
    workload = parse_workload(ALL_TO_ALL.replace("40000", "400000000"))
    keys = small_network().document()
    found = {}
    for window in ("100KB", "500MB"):
        keys["transport"]["window"] = window
        found[window] = validate(workload, small_system(), parse_network(keys)).forecast.memory_bytes
    assert found["500MB"] > found["100KB"] + 10_000_000


def test_the_largest_collective_is_in_flight_wherever_it_stands() -> None:
    keys = small_network().document()
    keys["transport"]["window"] = "500MB"
    layers = [f"{name} -1 1 NONE 0 1 NONE 0 1 ALLTOALL {size} 0\n" for name, size in (("a", 160_000_000), ("b", 4000))]
    found = [
        validate(parse_workload("DATA\n2\n" + "".join(each)), small_system(), parse_network(keys)).forecast.memory_bytes
        for each in (layers, layers[::-1])
    ]
    assert found[0] == found[1] > costs.IDLE_BYTES + 10_000_000


def test_without_a_window_the_network_bounds_the_memory_that_is_foretold() -> None:
    """A sender without a window holds its packets back while switches are full: a longer message needs no more."""
    keys = small_network().document()
    keys["transport"] = {"kind": "roce", "congestion_control": "dcqcn"}
    network = parse_network(keys)
    found = []
    for size in ("40000000000", "80000000000"):
        workload = parse_workload(ALL_TO_ALL.replace("40000", size))
        found.append(validate(workload, small_system(), network).forecast.memory_bytes)
    assert found[0] == found[1] < costs.IDLE_BYTES + 100_000_000


MEASURED_SECONDS = {
    ("models/llama-3-8b.yaml", "analytical"): 9.1,
    ("models/llama-3-8b.yaml", "analytical-queues"): 10.1,
    ("models/resnet-50.yaml", "analytical-queues"): 1.9,
    ("dlrm-128.txt", "analytical-queues"): 4.0,
}
"""CPU time of whole runs on roce-clos-128.yaml with flat.yaml, by ``benchmarks/forecast.py`` on one machine."""
FACTOR = 2.0
"""Within which a forecast is to be right."""


@pytest.mark.parametrize(("workload", "backend"), MEASURED_SECONDS)
def test_what_goes_by_formula_is_forecast_as_that(workload: str, backend: str) -> None:
    inputs = Path(__file__).resolve().parents[3] / "inputs"
    files = inputs / "workload" / workload, inputs / "system/flat.yaml", inputs / "network/roce-clos-128.yaml"
    found = validate(*files, Options(backend=backend))
    measured = MEASURED_SECONDS[workload, backend]
    assert measured / FACTOR < found.forecast.wall_seconds < measured * FACTOR
    words = validation_text(found.document())
    assert not [word for word in ("packets", "connections", "queue pairs", "congestion control") if word in words]
    forecast = found.document()["forecast"]
    assert isinstance(forecast, dict)
    assert not {"packets", "connections", "queue_pairs"} & forecast.keys()
    assert validate(*files).forecast.wall_seconds > FACTOR * found.forecast.wall_seconds


def test_thresholds_of_one_rate_that_differ_by_switch_are_told_apart_from_those_of_all() -> None:
    row = {"kmin_bytes": 100_000, "kmax_bytes": 400_000, "pmax": 0.2}
    found = validate(small_workload(), small_system(), small_network()).document()
    thresholds = [
        {"rate_bps": 10**11, **row},
        {"rate_bps": 10**11, **row, "kmin_bytes": 110_000},
        {"rate_bps": 4 * 10**11, **row},
    ]
    lines = validation_text({**found, "in_force": {"ecn": thresholds}}).splitlines()
    assert [line.partition("  ")[0] for line in lines if line.startswith("ECN")] == [
        "ECN at 100 Gb/s, some switches", "ECN at 100 Gb/s, some switches", "ECN at 400 Gb/s",
    ]  # fmt: skip


def test_messages_of_channels_take_longer_than_others() -> None:
    own = parse_system({"collectives": "nccl"})
    found = validate(small_workload(), own, small_network()).forecast
    inputs = load_inputs(small_workload(), own, small_network())
    assert inputs.expected(1).channel_messages == found.messages > 0
    least = costs.PROGRAM_SECONDS + costs.SECONDS_OF_CHANNELS + found.messages * costs.SECONDS_PER_CHANNEL_MESSAGE
    assert found.wall_seconds > least
    assert load_inputs(small_workload(), small_system(), small_network()).expected(1).channel_messages == 0
