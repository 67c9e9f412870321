"""Makes a process ready to fork children that play at once: what a run loads and what its first use prepares is there.

Loading ns-3 is the smaller part: cppyy compiles the way into each native function when it is first called, a quarter
of a second of a run that simulates nothing. So a tiny run of each kind is played here, and closed.
"""

from __future__ import annotations

import gc
import mmap
import pickle
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.inputs import load_inputs
from astra_ns3.experiments.isolated.channel import Line, Message, Recorder
from astra_ns3.experiments.isolated.child import play_and_tell
from astra_ns3.experiments.isolated.interruption import STOP_SIGNALS
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.watch import Watch
from astra_ns3.network.backend_makers import check_own_control
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload

_NPUS = 2
_WORKLOAD = "DATA\n1\ntiny -1 10 NONE 0 10 NONE 0 10 ALLREDUCE 4000 0\n"
_SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 2,
    "all-reduce-implementation": "ring",
    "reduce-scatter-implementation": "ring",
    "all-gather-implementation": "ring",
    "all-to-all-implementation": "direct",
    "collective-optimization": "baseline",
}
_TOPOLOGY = {"kind": "single-switch", "npus": _NPUS, "link": {"rate": "100Gbps", "delay": "500ns"}}
_TCP = {"topology": {**_TOPOLOGY, "switch": {"buffer": "1GB"}}, "transport": {"kind": "tcp"}}
_LOSSLESS = {"buffer": "32MiB", "pfc": {"priorities": [3]}, "ecn": {"kmin": "400KB", "kmax": "1600KB", "pmax": 0.2}}


def warm_up(*, hooks: bool, controls: Iterable[str]) -> None:
    """Play and close a tiny run of each transport in this process, whose only thread this is.

    ``hooks``: load ns-3's headers besides, which a hook may use. ``controls``: congestion controls in C++,
    ``FILE.hpp:Class``, that are compiled; one that can't be is left to the run that names it, which says why.
    """
    with _handlers_kept():
        for request in _tiny_runs(hooks):
            _play_and_close(request)
    for control in controls:
        with suppress(AstraNs3Error):
            request = _request(_roce(control))
            check_own_control(load_inputs(request.workload, request.system, request.network, request).plan)
    gc.collect()
    gc.freeze()  # what is here now lives as long as this process: no child needs to look through it, nor copy it


def _tiny_runs(hooks: bool) -> Iterator[RunRequest]:
    yield _request(parse_network(_TCP), on_built=_look if hooks else None)
    yield _request(_roce("dcqcn"))
    grid = (AnalyticalDimension(topology="switch", npus=_NPUS, bytes_per_ns=12.5),)
    yield _request(AnalyticalNetwork(grid=grid), backend="analytical")


def _look(context: Any) -> Callable[[], None]:  # a HookContext, whose module loads cppyy
    """A hook that does what most do, for each of these calls is compiled when it is first used."""

    def nothing(*_: object) -> None:
        """Nobody is interested."""

    port = context.port("switch0:0")
    context.trace(port, "Drop", "void(ns3::Time, ns3::Ptr<const ns3::Packet>)", nothing)
    context.schedule(0, lambda: nothing(port.GetQueueBytes()))
    return nothing


def _roce(control: str) -> NetworkConfig:
    transport = {"kind": "roce", "congestion_control": control}
    return parse_network({"topology": {**_TOPOLOGY, "switch": _LOSSLESS}, "transport": transport})


def _request(network: Any, **more: Any) -> RunRequest:  # options of a request, each with its type
    return RunRequest(workload=parse_workload(_WORKLOAD), system=parse_system(_SYSTEM), network=network, **more)


class _Unheard(Line):
    """Says everything to nobody."""

    def send(self, message: Message | Recorder) -> None:
        """Do all of the work but the sending."""
        pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)


def _play_and_close(request: RunRequest) -> None:
    near, far = socket.socketpair()
    with closing(near), closing(far):
        Line(far).send(Recorder(None, ()))
        clock = mmap.mmap(-1, mmap.PAGESIZE)
        play_and_tell(request, Watch(request.end), _Unheard(near), clock, process_ends=False)


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """A run that is played changes what signals do; this process is to stay as it is."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
