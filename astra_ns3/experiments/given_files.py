"""The three files of a run: read where they are paths, taken where they are objects, and named in errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.formats.plain_graph import PlainGraph
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork, NetworkFile, read_network_file
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.topology.file import FileTopology
from astra_ns3.errors import InputError, located, refuse, wrong
from astra_ns3.experiments.changes.files import FILES
from astra_ns3.experiments.changes.setting import RunFiles, place_of
from astra_ns3.experiments.jobs.flows import system_of_flows
from astra_ns3.experiments.jobs.job_kinds import JOBS
from astra_ns3.experiments.option import options_of
from astra_ns3.experiments.options import Options, network_with_options
from astra_ns3.frozen import replace
from astra_ns3.scenario.tenant import FilePath
from astra_ns3.system.file import read_system
from astra_ns3.user_code import a_kind_of
from astra_ns3.workload.files.flows.hpcc import with_npus
from astra_ns3.workload.files.workload_formats import AnyWorkload, read_workload, with_groups

Given = TypeVar("Given")
Read = TypeVar("Read")


def network_of_run(network: FilePath | AnyNetwork, options: Options) -> AnyNetwork:
    """Return the network that a run names, as its options change it. Raises InputError."""
    nobody = FlowList.of([0], [1], [1], [0])
    files = read_files(nobody, system_of_flows(None), network, options)
    with named(network, files.network):
        return network_with_options(files.network.network, options)


def read_files(
    workload: FilePath | AnyWorkload,
    system: FilePath | SystemConfig,
    network: FilePath | AnyNetwork,
    options: Options,
    *,
    of_groups: str = "",
) -> RunFiles:
    """Return the three files with the changes and groups that the options name.

    ``of_groups``: with what an error about groups begins; empty: with their file.
    """
    _check_paths(options)
    files = RunFiles(
        _given("workload", workload, tuple(JOBS), read_workload),
        _given("system", system, (SystemConfig,), read_system),
        _network_file(network),
        {file: place_of(given, file) for file, given in zip(FILES, (workload, system, network), strict=True)},
        _flags(options),
    ).with_changes(options.changes or {})
    if options.groups is not None:
        with located(of_groups) if of_groups else nullcontext():
            files = replace(files, workload=with_groups(files.workload, options.groups))
    if isinstance(files.workload, FlowList):
        files = replace(files, workload=with_npus(files.workload, _hosts(files.network.network)))
    return files


def _hosts(network: AnyNetwork) -> Sequence[int]:
    """Return the number of each NPU's host in a graph with numbered nodes; in others those of the NPUs."""
    topology = network.topology if isinstance(network, NetworkConfig) else None
    graph = topology.content() if isinstance(topology, FileTopology) else None
    if isinstance(graph, PlainGraph) and list(graph.names) == list(map(str, range(len(graph.names)))):
        return graph.hosts
    return range(network.npus)


def _flags(options: Options) -> dict[str, str]:
    """The command line's word for each option, by its name and by that word without dashes."""
    found: dict[str, str] = {}
    for option in options_of(type(options)):
        for flag in option.flags:
            word = next(name for name in flag.names.split() if name.startswith("--"))
            found |= {option.name: word, word.lstrip("-").replace("-", "_"): word}
    return found


def _network_file(network: FilePath | AnyNetwork) -> NetworkFile:
    """Return the contents of a network file, or a network alone."""
    models: tuple[type[AnyNetwork], ...] = (NetworkConfig, AnalyticalNetwork)
    found = _given("network", network, models, read_network_file)
    return found if isinstance(found, NetworkFile) else NetworkFile(found)


# Options that name a file.
_FILES = ("groups", "remote_memory", "logical_topology")


def _check_paths(options: Options) -> None:
    """Raise InputError if an option that names a file is something else."""
    for name in _FILES:
        value = getattr(options, name)
        refuse(
            value is not None and not isinstance(value, (str, os.PathLike)),
            f"{name} is a {type(value).__name__}, expected the path of a file",
        )


def _given(name: str, value: object, models: tuple[type[Given], ...], read: Callable[[FilePath], Read]) -> Given | Read:
    """``value`` itself if it is one of ``models``, else what the file that it names holds."""
    if isinstance(value, (str, os.PathLike)):
        return read(value)
    if not isinstance(value, models):
        names = " or ".join(model.__name__ for model in models)
        made = f", which parse_{name}() makes of a mapping" if isinstance(value, dict) and name != "workload" else ""
        raise wrong(f"{name}: found {a_kind_of(value)}, expected the path of a file or a {names}{made}")
    return value


@contextmanager
def named(value: object, file: NetworkFile | None = None, *, of_its_own: tuple[str, ...] = ()) -> Iterator[None]:
    """Put the file's name before the message of an InputError, if ``value`` is a path; and the key's line if known.

    A message that begins with one of ``of_its_own`` names another file already.
    """
    try:
        yield
    except InputError as error:
        names_another = str(error).startswith(of_its_own)
        if isinstance(value, (str, os.PathLike)) and not names_another:
            place = None if file is None else file.place_of(str(error))
            raise wrong(str(error), place or os.fspath(value)) from error
        raise


def place(value: object, file: NetworkFile, words: str) -> str:
    """The file, and the line if it is known, in front of a warning; nothing if ``value`` is no path."""
    return f"{file.place_of(words) or os.fspath(value)}: " if isinstance(value, (str, os.PathLike)) else ""


def told_with_place(value: object, warnings: Sequence[str]) -> list[str]:
    """Warnings with the file in front, if ``value`` is the path of one."""
    return [f"{os.fspath(value)}: {words}" if isinstance(value, (str, os.PathLike)) else words for words in warnings]
