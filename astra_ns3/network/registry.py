"""Backends by name; each is imported when first asked for, so nothing native is loaded before a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from astra_ns3.config.network import NetworkConfig
from astra_ns3.errors import InputError, nearest
from astra_ns3.network.api import EndpointModel, NetworkBackend
from astra_ns3.network.records import RecorderOptions

#: Called with what a backend built, before the first event; its arguments are the backend's own affair.
BuiltHook = Callable[..., object]
Factory = Callable[[NetworkConfig, EndpointModel, int, RecorderOptions, "BuiltHook | None"], NetworkBackend]


def create_backend(
    name: str,
    config: NetworkConfig,
    endpoint: EndpointModel,
    *,
    seed: int,
    recorder: RecorderOptions,
    on_built: BuiltHook | None = None,
) -> NetworkBackend:
    """Build the backend ``name``; raises InputError if there is none of that name."""
    factory = BACKENDS.get(name)
    if factory is None:
        raise InputError(f"backend '{name}' is not one of {', '.join(BACKENDS)}{nearest(name, BACKENDS)}")
    return factory(config, endpoint, seed, recorder, on_built)


def _ns3(
    config: NetworkConfig,
    endpoint: EndpointModel,
    seed: int,
    recorder: RecorderOptions,
    on_built: BuiltHook | None,
) -> NetworkBackend:
    from astra_ns3.network.ns3.backend import Ns3Backend

    return Ns3Backend(config, endpoint, seed=seed, recorder=recorder, on_built=on_built)


BACKENDS: Mapping[str, Factory] = {"ns3": _ns3}
