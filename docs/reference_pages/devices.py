"""Devices that compute, NCCL's ready servers, and the variables of NCCL, each with its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

from astra_ns3.config.model.devices import DEVICES, Device, Peak
from astra_ns3.nccl.copying import costs
from astra_ns3.nccl.environment import RANGES, Environment
from astra_ns3.nccl.servers import SERVERS
from astra_ns3.units import exact_time
from reference_pages.attributes import words_of
from reference_pages.markdown import cell, code, table

_BEGIN = """# Devices and servers

Made from the code. How they are used: [compute times](../compute.md), [NCCL](../nccl.md).

## Devices

Dense peaks in TFLOPS, without sparsity. Memory is in GB, its bandwidth in GB/s (10^9 bytes). GPUs are SXM or OAM
modules, but for `H100-PCIe`; `B200` is that of HGX boards. The numbers are those of vendors' data sheets, which
`astra_ns3/config/model/devices.py` names.
"""
_LOSSES = """
## Losses of devices

The default values of three keys. GPUs that nobody measured have the values of their family.
For TPUs no measurement could be read.

* `launch_overhead`, measured on an A100: 1,010 kernels of 1.81 us begin every 3.41 us
  (github.com/ayush-os/nsight-systems-deep-dive, commit 0e3f06f; the difference is ours).
* `scale_up_efficiency`: bus bandwidth of a ring of 8 at 256 MiB over the line. A100: 213.9 of 300 GB/s (Azure,
  AI-benchmarking-guide, ND_A100_v4). H100: 325.7 to 328.5 of 450 (github.com/xxrjun/nccl-tests-cluster). MI300X: 48
  of 64 GB/s a link (AMD, "Understanding RCCL Bandwidth and xGMI Performance on AMD Instinct MI300X", 2025).
* `overlap_slowdown`: mean over GPT and LLaMA models on four A100, H100, MI210 or MI250; at most 1.40 (S. Lee et al.,
  arXiv 2507.03114, 2025, abstract).
"""
_SERVERS = """
## NCCL's servers

NVLink's rate is for each GPU and direction. *Recalled* in a source: written down from memory and not looked up.
"""
_VARIABLES = """
## NCCL's variables

Variables that change NCCL's decisions. Other variables of NCCL are accepted with a warning if they change no time, and
refused if they would, unless they have NCCL's default.
"""
_COSTS = """
## Costs of NCCL's channels

Rates are for a channel, in 10^9 bytes of data. [How they act](../nccl.md#how-a-channel-is-played).
"""
_GIGA, _TERA = 10**9, 10**12


def devices_page() -> str:
    """Return the page."""
    peaks = tuple(Peak.model_fields)
    titles = ("Device", *peaks, "Vector", "Memory", "Bandwidth")
    parts = [_BEGIN, table(titles, (_device(name, device, peaks) for name, device in DEVICES.items())), _LOSSES]
    keys = ("launch_overhead", "scale_up_efficiency", "overlap_slowdown")
    parts += [table(("Device", *map(code, keys)), (_losses(name, device) for name, device in DEVICES.items()))]
    parts += [_SERVERS, table(("Server", "GPUs", "NVLink", "NICs", "Source"), _servers())]
    parts += [_COSTS, table(("Cost", "Value", "Source"), ((cell(words), *others) for words, *others in costs()))]
    return "\n".join([*parts, _VARIABLES, table(("Variable", "Values", "Meaning"), _variables())])


def _device(name: str, device: Device, peaks: Sequence[str]) -> tuple[str, ...]:
    found = [*(getattr(device.peak, datatype) for datatype in peaks), device.vector]
    numbers = ["" if flops is None else f"{flops / _TERA:,.10g}" for flops in found]
    return code(name), *numbers, *(f"{each / _GIGA:,.4g}" for each in (device.memory_bytes, device.memory_bandwidth))


def _losses(name: str, device: Device) -> tuple[str, ...]:
    launch = exact_time(device.launch_overhead_ps) if device.launch_overhead_ps else "0"
    return code(name), launch, f"{device.scale_up_efficiency:g}", f"{device.overlap_slowdown:g}"


def _servers() -> Iterator[tuple[str, ...]]:
    for name, server in SERVERS.items():
        joined = "" if server.switched else ", directly joined"
        rates = {f"{nic.gbits_per_s:g}" for nic in server.nics}
        nics = f"{len(server.nics)} x {' or '.join(sorted(rates))} Gb/s"
        yield code(name), f"{server.gpus}{joined}", f"{server.nvlink_gbytes_per_s:g} GB/s", nics, cell(server.source)


def _variables() -> Iterator[tuple[str, ...]]:
    words = words_of(Environment)
    for field in fields(Environment):
        if field.name != "without_effect":
            least, most = RANGES.get(field.name, (None, None))
            values = "text" if least is None else f"{least:,} to {most:,}"
            yield code(f"NCCL_{field.name.upper()}"), values, cell(words[field.name])
