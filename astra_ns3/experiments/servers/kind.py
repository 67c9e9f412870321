"""Which kind of server a request needs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.transports.roce_control import OwnControl
from astra_ns3.errors import InputError
from astra_ns3.experiments.options import network_with_options
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.servers.messages import ServerKind
from astra_ns3.network.backends import abilities_of


def kind_of(request: RunRequest) -> ServerKind:
    """The modules that a server should have loaded for ``request``: without it the run is the same, and takes seconds
    longer."""
    if not abilities_of(request.backend).packets:
        return ServerKind()
    controls = {
        f"{Path(control.path).resolve()}:{control.class_name}": _content(Path(control.path))
        for control in _compiled_controls(request)
    }
    return ServerKind(hooks=request.on_built is not None, controls=tuple(controls.items()))


def _compiled_controls(request: RunRequest) -> Iterator[OwnControl]:
    if not isinstance(request.network, NetworkConfig):
        return
    with suppress(InputError):  # the run itself will say what is wrong
        control = network_with_options(request.network, request).own_control
        if control is not None and not control.path.endswith(".py"):
            yield control


def _content(file: Path) -> str:
    """So that a server that compiled the file before it changed is not asked."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""
