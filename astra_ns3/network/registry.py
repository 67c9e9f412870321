"""Backends by name; each is imported when first asked for, so nothing native is loaded before a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from astra_ns3.config.compatibility import OURS, Compatibility
from astra_ns3.config.network import NetworkConfig
from astra_ns3.config.network_file import AnyNetwork
from astra_ns3.errors import InputError, nearest
from astra_ns3.network.api import EndpointModel, NetworkBackend
from astra_ns3.network.records import RecorderOptions

#: Called with what a backend built, before the first event; its arguments are the backend's own affair.
BuiltHook = Callable[..., object]
Factory = Callable[[AnyNetwork, EndpointModel, int, RecorderOptions, "BuiltHook | None"], NetworkBackend]
_Maker = Callable[[AnyNetwork, EndpointModel, int, RecorderOptions, "BuiltHook | None", Compatibility], NetworkBackend]


def create_backend(
    name: str,
    config: AnyNetwork,
    endpoint: EndpointModel,
    *,
    seed: int,
    recorder: RecorderOptions,
    on_built: BuiltHook | None = None,
    compatibility: Compatibility = OURS,
) -> NetworkBackend:
    """Build the backend ``name``; raises InputError if there is none of that name."""
    maker = BACKENDS.get(name)
    if maker is None:
        raise InputError(f"backend '{name}' is not one of {', '.join(BACKENDS)}{nearest(name, BACKENDS)}")
    return maker(config, endpoint, seed, recorder, on_built, compatibility)


def _ns3(
    config: AnyNetwork,
    endpoint: EndpointModel,
    seed: int,
    recorder: RecorderOptions,
    on_built: BuiltHook | None,
    _compatibility: Compatibility,
) -> NetworkBackend:
    from astra_ns3.network.ns3.backend import Ns3Backend

    if not isinstance(config, NetworkConfig):
        raise InputError("the network has no packets; use the backend 'analytical'")
    if endpoint.rendezvous_bytes:
        raise InputError("the rendezvous protocol needs the backend 'analytical'")
    return Ns3Backend(config, endpoint, seed=seed, recorder=recorder, on_built=on_built)


def _analytical(
    config: AnyNetwork,
    endpoint: EndpointModel,
    seed: int,
    recorder: RecorderOptions,
    on_built: BuiltHook | None,
    compatibility: Compatibility,
    *,
    queues: bool,
) -> NetworkBackend:
    from astra_ns3.network.analytical.backend import AnalyticalBackend, AnalyticalModel

    model = AnalyticalModel(queues, compatibility.charge_highest_dimension, compatibility.truncate_delays)
    return AnalyticalBackend(config, endpoint, model=model, seed=seed, recorder=recorder, on_built=on_built)


BACKENDS: Mapping[str, _Maker] = {
    "ns3": _ns3,
    "analytical": partial(_analytical, queues=False),
    "analytical-queues": partial(_analytical, queues=True),
}
