"""What crosses into C++: fields that it lacks are refused, numbers that don't fit are refused in one line."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.star_network import star

from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import BackendError
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.door import library
from astra_ns3.network.door import session as door
from astra_ns3.network.door.description import Description
from astra_ns3.network.door.installed import NS3_VERSION
from astra_ns3.network.door.library import load
from astra_ns3.network.ns3 import backend as ns3_backend
from astra_ns3.network.ns3.backend import Ns3Backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.recorded import (
    CHANNEL_ROWS,
    CHANNELS,
    COMPLETIONS,
    FLOWS,
    IDEAL,
    NODES,
    OPERATIONS,
    PHASES,
    RECORDED_TABLES,
    Column,
)
from astra_ns3.network.records import PORT_COUNTERS, RecorderOptions
from astra_ns3.transport.transport import Transport
from astra_ns3.transport.transports import TRANSPORTS


def on_transport(network: NetworkConfig, kind: str) -> NetworkConfig:
    """The same network over a transport with its defaults."""
    return parse_network({**network.document(), "transport": kind})


@pytest.mark.parametrize("array", [np.zeros(3, dtype=np.int16), np.zeros((3, 2), dtype=np.uint32).T])
def test_an_array_that_cpp_can_not_view_is_refused(array: npt.NDArray[np.generic]) -> None:
    with pytest.raises(TypeError, match=f"array of {array.dtype}"):
        Description().add("network", {"links": array})


@pytest.mark.parametrize("kind", ["tcp", "roce"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda numbers: numbers.pop("window_bytes"), "'window_bytes' is missing"),
        (lambda numbers: numbers.update(colour=1), "'colour' is unknown"),
        (lambda numbers: numbers.update(acknowledged=2), "'acknowledged' is 2, expected 0 to 1"),
        (lambda numbers: numbers.update(window_bytes="all"), "'window_bytes' is of another kind"),
    ],
)
def test_a_transport_reads_each_number_once_and_names_what_it_lacks(
    kind: str, change: Callable[[dict[str, Any]], object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = TRANSPORTS[kind].native

    def changed(transport: Transport, posting_ps: int) -> dict[str, Any]:
        numbers = dict(native(transport, posting_ps))
        change(numbers)
        return numbers

    monkeypatch.setattr(TRANSPORTS[kind], "native", changed)
    with pytest.raises(BackendError, match=f"transport {kind}: {message}") as caught:
        Ns3Backend(plan_network(on_transport(star(2), kind)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("group", "values", "message"),
    [
        ("network", {"links": np.array([0, 9, 0], dtype=np.uint32)}, "link 0 joins nodes 0 and 9"),
        ("network", {"links": np.array([0, 1], dtype=np.uint32)}, "a link is three numbers"),
        ("network", {"hostOfNpu": np.array([0, 7], dtype=np.uint32)}, "there is no host 7"),
        ("network", {"switches": np.array([5], dtype=np.uint32)}, "there is no kind of switch 5"),
        ("network", {"links": np.zeros(3, dtype=np.int64)}, "network: 'links' is of another kind"),
        ("network", {"hosts": 0.5}, "network: 'hosts' is of another kind"),
        ("network", {"hosts": -1}, "network: 'hosts' is -1, expected 0 to 4294967295"),
        ("network", {"hosts": 2**70}, "'1180591620717411303424' is no number"),
        ("linkKind", {"ratebps": 1}, "linkKind: 'ratebps' is unknown"),
        ("endpoint", {"delayps": 1500}, "endpoint: 'delayps' is unknown"),
        ("routing", {"kind": "luck"}, "routing: 'kind' is 'luck', expected one of flow-hash, spray"),
        ("links", {}, "there is no group 'links'"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    group: str, values: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def describe(description: Description, plan: object, seed: int) -> None:
        describe_network(description, plan, seed)
        description.add(group, values)

    describe_network: Any = vars(ns3_backend)["describe_network"]
    monkeypatch.setattr(ns3_backend, "describe_network", describe)
    with pytest.raises(BackendError, match=f"network description: {message}") as caught:
        Ns3Backend(plan_network(star(2), EndpointModel()))
    assert "\n" not in str(caught.value)


def test_the_typed_session_names_exactly_what_cpp_has() -> None:
    native = {name for name in vars(load().Session) if name[0].isupper()}
    typed = {name for name in vars(door.Session) if name[0].isupper()}
    assert typed | {"Open"} == native


def test_the_typed_statistics_name_exactly_what_cpp_has() -> None:
    native = {name for name in vars(load().SessionStatistics) if not name.startswith("_")}
    assert set(door.Statistics.__annotations__) == native


def test_the_counters_of_a_port_are_those_of_cpp() -> None:
    backend = Ns3Backend(plan_network(star(2)))
    session: door.Session = vars(backend)["_session"]
    native = set(session.GetStatistics(False).portCounterNames.split())
    rows = backend.switch_table()
    backend.close()
    counters = {*PORT_COUNTERS, "queue_bytes"}  # the last for `--live`, in no table
    assert native == counters
    assert [set(row) for row in rows] == [{"port", "link_to", *counters}] * 4


def test_ports_have_their_names_and_those_of_what_their_links_lead_to() -> None:
    backend = Ns3Backend(plan_network(star(2)))
    rows = backend.switch_table()
    backend.close()
    names = [("host0", "switch0"), ("host1", "switch0"), ("switch0:0", "host0"), ("switch0:1", "host1")]
    assert [(row["port"], row["link_to"]) for row in rows] == names
    assert [rows[1], rows[-1]] == [list(rows)[1], list(rows)[-1]]
    assert list(pickle.loads(pickle.dumps(rows))) == list(rows)


def test_the_columns_of_recorded_tables_are_those_of_cpp() -> None:
    native: dict[str, set[str]] = {}
    for kind in TRANSPORTS:
        backend = Ns3Backend(plan_network(on_transport(star(2), kind)))
        session: door.Session = vars(backend)["_session"]
        described = [line.split() for line in session.DescribeTables().splitlines()]
        native |= {name: set(columns) for name, *columns in described}
        backend.close()
    of_python = {table.name for table in (OPERATIONS, PHASES, CHANNELS, CHANNEL_ROWS, NODES, COMPLETIONS)}
    recorded = {table.name: set(table.recorded) for table in RECORDED_TABLES if table.name not in of_python}
    assert native == {name: columns - {IDEAL.name} for name, columns in recorded.items()}  # which Python works out


def test_a_column_that_cpp_has_not_is_an_error_before_the_first_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = replace(FLOWS, columns=(*FLOWS.columns, Column("colour", "int64", "", "none")))
    monkeypatch.setattr("astra_ns3.network.door.recording.FLOWS", longer)
    with pytest.raises(BackendError, match="records no column of flows 'colour', it has source, destination, bytes"):
        Ns3Backend(plan_network(star(2)), recorder=RecorderOptions(tmp_path, flows=True))
    Ns3Backend(plan_network(star(2))).close()


@pytest.mark.parametrize(("npu", "npus"), [(2, [0, 1]), (0, [0, 1, 2])])
def test_a_launch_is_refused_on_an_npu_outside_its_group_and_in_a_group_of_another_size(
    npu: int, npus: list[int]
) -> None:
    with closing(Ns3Backend(plan_network(star(3)))) as backend:
        schedule = backend.register_schedule(lookup(CollectiveKind.ALL_REDUCE, "ring", 2))
        group = backend.register_group(npus)
        with pytest.raises(Exception, match=f"or NPU {npu} is not in it"):
            backend.launch(npu, schedule, group, 0, 8)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"version": lambda name: "0.0.0"}, f"for ns3 {NS3_VERSION}, but astra-ns3 is 0.0.0"),
        ({"NS3_VERSION": "3.0"}, f"for ns3 {NS3_VERSION}, but astra-ns3 is .* and needs ns3 3.0"),
    ],
)
def test_a_library_of_another_version_of_ours_or_of_ns3_is_refused(
    changed: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in changed.items():
        monkeypatch.setattr(library, name, value)
    with pytest.raises(BackendError, match=words):
        load.__wrapped__()
