"""A user's hook: ns-3's own objects before the first event, changed, traced and joined by more applications."""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
from functools import partial
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

import pytest
from oracles.tcp_times import HEADERS, Star, segment_sizes
from support.command import NEEDS_HEADERS, Finished, run_command
from support.small_run import write_inputs
from support.star_network import OPEN_WINDOW_SEGMENTS, Played, incast, one_message, play, star

import astra_ns3
from astra_ns3.errors import InputError
from astra_ns3.experiments.hooks import load_hook

SEGMENT = 1460
PACKET_SIGNATURE = "void(ns3::Time, ns3::Ptr<const ns3::Packet>)"
BULK_BYTES = 50_000
SMALL: dict[str, Any] = {"buffer": "100KB", "min_rto": "1ms"}

pytestmark = NEEDS_HEADERS


def sample_queue(repository: Path) -> ModuleType:
    """The example of ``inputs/hooks``, as a module."""
    specification = importlib.util.spec_from_file_location("sample_queue", repository / "inputs/hooks/sample-queue.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def watched(repository: Path) -> tuple[ModuleType, Played]:
    """The example, and the run that it has watched."""
    example = sample_queue(repository)
    return example, play(star(5, **SMALL), incast(4), 300_000, on_built=example.on_built)


def test_the_example_samples_the_queue_and_counts_drops(watched: tuple[ModuleType, Played]) -> None:
    example, played = watched
    times = [time_ps for time_ps, _ in example.SAMPLES]
    assert times == [index * example.INTERVAL_PS for index in range(len(times))]
    assert len(times) == min(example.MOST_SAMPLES, played.end_ps // example.INTERVAL_PS + 1)
    highest = max(waiting for _, waiting in example.SAMPLES)
    assert 0 < highest <= played.ports["switch0:0"]["highest_queue_bytes"]
    assert len(example.DROPS) == played.ports["switch0:0"]["dropped_frames"] > 0
    assert all(before <= after for before, after in itertools.pairwise(example.DROPS))


def test_the_example_changes_no_result(watched: tuple[ModuleType, Played]) -> None:
    _, played = watched
    plain = play(star(5, **SMALL), incast(4), 300_000)
    assert played.listener.done == plain.listener.done
    assert played.ports == plain.ports


def test_the_command_line_takes_the_example(repository: Path, tmp_path: Path) -> None:
    options = [f"--{name}={path}" for name, path in write_inputs(tmp_path).items()]
    hook = repository / "inputs/hooks/sample-queue.py"
    finished = run_command("run", *options, f"--path={tmp_path / 'out'}", f"--hook={hook}", headers=True)
    assert finished.returncode == 0
    assert finished.stderr.startswith("hook: switch0:0: ")
    document = json.loads((tmp_path / "out" / "run.json").read_text())
    assert document["complete"]
    assert document["hook"]


def test_a_hook_sees_nodes_devices_switches_and_applications() -> None:
    seen: dict[str, int] = {}

    def look(context: Any) -> None:
        seen["nodes"] = len(context.nodes)
        seen["hosts"] = sum(node.GetNDevices() > 0 for node in context.nodes)
        seen["devices"] = sum(device.GetMtu() == 9000 for device in context.devices)
        seen["switch ports"] = context.switches[0].GetNPorts()
        seen["applications"] = len({int(application.GetNode().GetId()) for application in context.applications})
        seen["now_ps"] = context.now_ps()

    play(star(4, mtu=9000, npus_per_host=2), one_message(), 1000, on_built=look)
    # ns-3 adds a loopback device to a host's node when it gets IP, and none to a switch's.
    assert seen == {"nodes": 3, "hosts": 2, "devices": 2, "switch ports": 2, "applications": 2, "now_ps": 0}


def test_a_hook_that_slows_a_port_down_changes_the_finish_time() -> None:
    """The switch's port to host 1 at half the rate: SYN, ACK and data take twice as long on this one line."""
    size = 60_000

    def slow_down(context: Any) -> None:
        half = context.ns.DataRateValue(context.ns.DataRate("50Gb/s"))
        context.port("switch0:1").SetAttribute("DataRate", half)

    network = star(2, initial_window_segments=OPEN_WINDOW_SEGMENTS)
    fast, slow = Star(100 * 10**9, 500_000), Star(50 * 10**9, 500_000)
    handshake_ps = fast.handshake_ps() + slow.line_ps(48) - fast.line_ps(48)
    first_at_switch_ps = handshake_ps + fast.line_ps(HEADERS) + fast.hop_ps(HEADERS + SEGMENT)
    data_ps = sum(slow.line_ps(HEADERS + segment) for segment in segment_sizes(size, SEGMENT))
    slowed = play(network, one_message(), size, on_built=slow_down)
    assert slowed.done_ps(1) == first_at_switch_ps + data_ps + slow.delay_ps


def test_a_hook_that_shrinks_the_buffer_makes_it_drop() -> None:
    def shrink(context: Any) -> None:
        pointer = context.ns.PointerValue()
        context.switches[0].GetAttribute("Buffer", pointer)
        pointer.GetObject().SetAttribute("Capacity", context.ns.UintegerValue(60_000))

    network = star(5, min_rto="1ms")
    plain, shrunk = (play(network, incast(4), 200_000, on_built=hook) for hook in (None, shrink))
    assert plain.statistics["dropped_frames"] == 0
    assert shrunk.statistics["dropped_frames"] > 0
    assert shrunk.ports["switch0:0"]["highest_queue_bytes"] <= 60_000
    assert shrunk.finish_ps > plain.finish_ps


def test_a_hooks_trace_sink_is_called_for_every_packet() -> None:
    sizes: list[int] = []

    def listen(context: Any) -> None:
        port = context.port("switch0:1")
        context.trace(port, "Transmit", PACKET_SIGNATURE, lambda time, packet: sizes.append(packet.GetSize()))

    played = play(star(2), one_message(), 60_000, on_built=listen)
    assert len(sizes) == played.ports["switch0:1"]["sent_frames"]
    assert sizes[0] == 48  # the SYN
    assert sum(size - HEADERS for size in sizes[2:]) == 60_000


def test_a_hook_traces_the_same_source_of_two_ports() -> None:
    called: list[str] = []

    def listen(context: Any) -> None:
        for name in ("switch0:0", "switch0:1"):
            sink = partial(lambda port, time, packet: called.append(port), name)
            context.trace(context.port(name), "Transmit", PACKET_SIGNATURE, sink)

    played = play(star(2), one_message(), 60_000, on_built=listen)
    for name in ("switch0:0", "switch0:1"):
        assert called.count(name) == played.ports[name]["sent_frames"] > 0


def test_a_wrong_signature_is_the_same_input_error_each_time() -> None:
    def listen(context: Any) -> None:
        context.trace(context.port("host0"), "Transmit", "void(int)", lambda *_: None)

    for _ in range(2):
        with pytest.raises(InputError, match=r"takes a function 'void\(ns3::Time, .*', found 'void\(int\)'"):
            play(star(2), one_message(), 1, on_built=listen)


def test_an_unknown_trace_source_is_an_input_error() -> None:
    def listen(context: Any) -> None:
        context.trace(context.port("host0"), "Transmitt", PACKET_SIGNATURE, lambda *_: None)

    with pytest.raises(InputError, match="no trace source 'Transmitt'"):
        play(star(2), one_message(), 1, on_built=listen)


def test_a_trace_source_whose_type_ns3_misspells_can_be_traced() -> None:
    """ns-3 3.44 documents callback types that do not exist, such as this one's; that is no user's mistake."""
    connected: list[bool] = []

    def listen(context: Any) -> None:
        ns = context.ns
        socket = ns.Socket.CreateSocket(context.nodes[0], ns.TcpSocketFactory.GetTypeId())
        kind = "ns3::TcpSocketState::TcpCongState_t"
        context.trace(socket, "CongState", f"void({kind}, {kind})", lambda before, now: None)
        connected.append(True)

    play(star(2), one_message(), 1, on_built=listen)
    assert connected == [True]


def test_a_hook_adds_an_application_of_ns3_that_shares_the_network() -> None:
    """BulkSend from host 0 to a PacketSink on host 2, while NPU 0 sends to NPU 1 over the same NIC."""
    received: list[int] = []

    def add_bulk_transfer(context: Any) -> None:
        ns = context.ns
        anyone = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), 9).ConvertTo()
        host_2 = ns.InetSocketAddress(ns.Ipv4Address("10.0.0.3"), 9).ConvertTo()
        sinks = ns.PacketSinkHelper("ns3::TcpSocketFactory", anyone).Install(context.nodes[2])
        sinks.Start(ns.Seconds(0))
        source = ns.BulkSendHelper("ns3::TcpSocketFactory", host_2)
        source.SetAttribute("MaxBytes", ns.UintegerValue(BULK_BYTES))
        source.Install(context.nodes[0]).Start(ns.Seconds(0))
        sink = sinks.Get(0).GetObject[ns.PacketSink]()
        context.schedule(100_000_000, lambda: received.append(int(sink.GetTotalRx())))

    network = star(3)
    plain = play(network, one_message(), 1_000_000)
    joined = play(network, one_message(), 1_000_000, on_built=add_bulk_transfer, stop_when_done=False)
    assert received == [BULK_BYTES]
    assert joined.ports["switch0:2"]["sent_bytes"] > BULK_BYTES
    assert joined.done_ps(1) > plain.done_ps(1)


def test_a_hook_adds_udp_applications_of_ns3() -> None:
    """Three packets of 1000 bytes to the echo server on host 2, and three back; no NPU uses its port."""

    def add_echo(context: Any) -> None:
        ns = context.ns
        ns.UdpEchoServerHelper(9).Install(context.nodes[2]).Start(ns.Seconds(0))
        client = ns.UdpEchoClientHelper(ns.InetSocketAddress(ns.Ipv4Address("10.0.0.3"), 9).ConvertTo())
        client.SetAttribute("MaxPackets", ns.UintegerValue(3))
        client.SetAttribute("Interval", ns.TimeValue(ns.MicroSeconds(10)))
        client.SetAttribute("PacketSize", ns.UintegerValue(1000))
        client.Install(context.nodes[0]).Start(ns.Seconds(0))

    played = play(star(3), one_message(), 1000, on_built=add_echo, stop_when_done=False)
    for port in ("switch0:2", "host2"):
        assert played.ports[port]["sent_frames"] == 3
        assert played.ports[port]["sent_bytes"] == 3 * (1000 + 8 + 20 + 18)  # UDP, IP, Ethernet


def test_what_a_hook_raises_comes_out_and_the_next_run_is_right() -> None:
    def fail(context: Any) -> None:
        raise ZeroDivisionError("in a hook")

    with pytest.raises(ZeroDivisionError, match="in a hook"):
        play(star(2), one_message(), 1, on_built=fail)
    assert play(star(2), one_message(), 1).finish_ps > 0


def test_a_hook_file_that_fails_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def on_built(context):\n    context.port('switch7:0')\n")
    with pytest.raises(InputError, match="there is no switch 7"):
        play(star(2), one_message(), 1, on_built=load_hook(file))
    file.write_text("def on_built(context):\n    context.nothing\n")
    with pytest.raises(InputError, match=r"mine\.py:2: on_built failed: AttributeError"):
        play(star(2), one_message(), 1, on_built=load_hook(file))


def test_a_failing_end_function_is_one_line_of_the_users(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def inner() -> None:
        json.loads("no")  # raised elsewhere, told where it was called

    line = inner.__code__.co_firstlineno + 1
    result = astra_ns3.run(**write_inputs(tmp_path), isolated=False, on_built=lambda _: lambda: inner())
    said = "the function that the hook returned failed: JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
    (record,) = caplog.records
    assert (record.getMessage(), record.exc_info) == (f"{__file__}:{line}: {said}", None)
    assert result.complete


@pytest.mark.parametrize("when", ["at once", "later"])
def test_a_hook_that_fails_in_python_is_one_error_with_its_line_and_its_own_frames(when: str, tmp_path: Path) -> None:
    def fail(*_: Any) -> None:
        raise LookupError("in a hook")

    def hook(context: Any) -> None:
        if when == "at once":
            fail()
        context.schedule(1_000, fail)

    line = fail.__code__.co_firstlineno + 1
    with pytest.raises(InputError, match=rf"^{__file__}:{line}: .* failed: LookupError: in a hook$") as told:
        astra_ns3.run(**write_inputs(tmp_path), isolated=False, on_built=hook)
    assert isinstance(told.value.__cause__, LookupError)
    ours = {"option.py", "run.py", "calls.py"}
    assert {Path(str(frame.path)).name for frame in told.traceback} <= {Path(__file__).name, *ours}
    frames = [frame.f_code.co_filename for frame, _ in walk_tb(told.value.__cause__.__traceback__)]
    assert set(frames) == {__file__}


def in_own_process(tmp_path: Path, hook: str) -> Finished:
    """Run with this hook where an abort of ns-3 ends only that process."""
    options = [f"--{name}={path}" for name, path in write_inputs(tmp_path).items()]
    (tmp_path / "hook.py").write_text(hook)
    words = [*options, f"--path={tmp_path / 'out'}", "--quiet", f"--hook={tmp_path / 'hook.py'}"]
    return run_command("run", *words, headers=True)


def test_traces_of_different_signatures_live_in_one_run(tmp_path: Path) -> None:
    finished = in_own_process(
        tmp_path,
        "def on_built(context):\n"
        f"    context.trace(context.port('host0'), 'Transmit', '{PACKET_SIGNATURE}', lambda time, packet: None)\n"
        "    context.trace(context.devices[1], 'MacRx', 'void(ns3::Ptr<const ns3::Packet>)', lambda packet: None)\n"
        "    context.trace(context.port('host1'), 'Queue', 'void(ns3::Time, uint64_t)', lambda time, size: None)\n",
    )
    assert finished.returncode == 0, finished.stderr[:400]


def test_a_trace_of_the_wrong_signature_is_an_input_error(tmp_path: Path) -> None:
    finished = in_own_process(
        tmp_path,
        "def on_built(context):\n"
        "    context.trace(context.port('host0'), 'Transmit', 'void(uint32_t, uint32_t)', lambda old, new: None)\n",
    )
    assert finished.returncode == 2, finished.stderr[:400]
    wanted = re.search(r"'Transmit' .* takes a function '(.*)', found 'void\(uint32_t, uint32_t\)'", finished.stderr)
    assert wanted is not None, finished.stderr[:400]
    named = in_own_process(
        tmp_path,
        "def on_built(context):\n"
        f"    context.trace(context.port('host0'), 'Transmit', '{wanted[1]}', lambda time, packet: None)\n",
    )
    assert named.returncode == 0, named.stderr[:400]


def test_a_syn_ack_that_comes_again_is_acknowledged() -> None:
    """SYN-ACKs come at 2, 6, 14, 30 and 62 ms, none behind 126; data at 50 and 150. All before 55 are lost."""

    def lose(context: Any) -> None:
        port = context.port("host0:0")
        context.schedule(1_500_000, lambda: port.SetErrorRate(1.0))  # the SYN is through
        context.schedule(55_000_000_000, lambda: port.SetErrorRate(0.0))

    network = star(2, min_rto="50ms", connect_timeout="2ms", connect_retries=6)
    played = play(network, one_message(), 1000, on_built=lose)
    assert 150_000_000_000 < played.end_ps < 151_000_000_000
    assert played.ports["host0"]["lost_frames"] == 1 + 4 + 2  # the first ACK, four more, data twice
