"""The files and options of a run, as run.json keeps them for whoever plays it again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.request import RunRequest

_ELSEWHERE = ("passes", "scale", "comm_scale", "compute_scale", "backend", "report_npu")
"""Options that have a key of their own in run.json."""


def asked_document(request: RunRequest, files: Iterable[str]) -> JsonObject:
    """Return files of a run, and the options that aren't at their defaults; null: given as an object.

    A network given as an object stands whole: run.json's own has the rates that a model's device reaches of it.
    """
    names = [one.name for one in options_of(Options) if one.name not in _ELSEWHERE]
    given = [name for name in names if getattr(request, name) != getattr(Options, name)]
    return {name: _plain(getattr(request, name)) for name in (*files, *given)}


def _plain(value: object) -> Json:
    """Return what JSON can hold of an option; None of an object."""
    if isinstance(value, (NetworkConfig, AnalyticalNetwork)):
        return value.document()
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, Mapping):
        return {str(key): each for key, each in value.items()}
    return value if isinstance(value, (str, int, float)) else None
