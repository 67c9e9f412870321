"""Devices that compute: their peak for each datatype, without sparsity, their memory and its bandwidth.

Numbers are those that vendors publish for one package, as it is sold:

* V100: NVIDIA, "V100 GPU datasheet", SXM2 32 GB, 2020.
* A100-40GB, A100-80GB: NVIDIA, "A100 Tensor Core GPU datasheet", SXM, 2022; "A100 Tensor Core GPU architecture", 2020.
* H100, H100-PCIe: NVIDIA, "H100 Tensor Core GPU datasheet" and "H100 Tensor Core GPU architecture", 2022 and 2023.
* H200: NVIDIA, "H200 Tensor Core GPU datasheet", SXM, 2024.
* B200: NVIDIA, "Blackwell architecture technical brief", 2024; memory and its bandwidth: "Blackwell datasheet", 2025;
  both of HGX B200.
* MI300X: AMD, "Instinct MI300X accelerator data sheet", 2023.
* TPUv4, TPUv5p: Google, Cloud TPU documentation, "TPU v4" and "TPU v5p", 2024; of a chip, without a vector peak.

Each loss of programs on a device is one measured value. A device that nobody measured has the value of its family,
as the reference says:

* launch_overhead: A100: a profile of 1,010 kernels in one stream, each 1.81 us of every 3.41 us (the repository
  ayush-os/nsight-systems-deep-dive, README.md, commit 0e3f06f, second profile; the difference is our arithmetic).
* scale_up_efficiency: bus bandwidth of a ring of 8 at 256 MiB over the line. A100: 213.9 of 300 GB/s (Azure,
  AI-benchmarking-guide, ND_A100_v4_results.md, commit 8fd0c6e). H100: 325.7 to 328.5 of 450 GB/s (all-gather and
  reduce-scatter in xxrjun/nccl-tests-cluster, commit 455de4f). MI300X: 48 of 64 GB/s a link (AMD, "Understanding RCCL
  Bandwidth and xGMI Performance on AMD Instinct MI300X", 2025).
* overlap_slowdown: computing takes 18.9% longer while communication goes on, the mean over A100, H100, MI210 and MI250
  (S. Lee et al., "Characterizing Compute-Communication Overlap in GPU-Accelerated Distributed Deep Learning",
  arXiv 2507.03114, 2025, abstract).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from annotated_types import Ge, Gt, Le, MinLen
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from astra_ns3.config.core.model import ConfigModel, MemoryBytes, TimePs, as_value_error, checked, refuse_key
from astra_ns3.errors import nearest, refuse
from astra_ns3.units import parse_byte_rate, parse_flops, parse_frequency


def _schema(example: str) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}], "examples": [example]})


Flops = Annotated[int, Gt(0), BeforeValidator(as_value_error(parse_flops)), _schema("312TFLOPS")]
"""Floating-point operations per second; a multiplication and an addition are two."""
ByteRate = Annotated[int, Gt(0), BeforeValidator(as_value_error(parse_byte_rate)), _schema("2039GB/s")]
"""Bytes per second."""
Frequency = Annotated[int, Gt(0), BeforeValidator(as_value_error(parse_frequency)), _schema("940MHz")]
"""Cycles per second."""
Share = Annotated[float, Gt(0), Le(1)]
"""A share of what is possible at most."""
Slowdown = Annotated[float, Ge(1), Le(1000)]
"""So many times as long."""


class Peak(ConfigModel):
    """Operations per second of products of matrices, dense, for each datatype that the device has."""

    float32: Flops | None = None
    """Peak in FLOPS with float32."""
    tfloat32: Flops | None = None
    """Peak in FLOPS with tfloat32."""
    bfloat16: Flops | None = None
    """Peak in FLOPS with bfloat16."""
    float16: Flops | None = None
    """Peak in FLOPS with float16."""
    float8: Flops | None = None
    """Peak in FLOPS with float8."""

    @model_validator(mode="after")
    @checked
    def _has_one(self) -> None:
        refuse_key(not self.by_datatype, "bfloat16", f"is missing, or another of {', '.join(Peak.model_fields)}")

    @property
    def by_datatype(self) -> dict[str, int]:
        """Return the peaks that the device has."""
        found = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: flops for name, flops in found.items() if flops is not None}


class Device(ConfigModel):
    """A device that computes."""

    name: Annotated[str, MinLen(1)]
    """The device's name."""
    peak: Peak
    """The peak by datatype."""
    vector: Flops | None = None
    """Peak of operations that are no products of matrices; None: not known, and these take what their memory takes."""
    memory_bandwidth: ByteRate
    """Bytes per second."""
    memory_bytes: MemoryBytes = Field(alias="memory")
    """The device's memory."""
    launch_overhead_ps: TimePs = Field(alias="launch_overhead", default=0)
    """Time that every operation takes besides."""
    scale_up_efficiency: Share = 1.0
    """The share of the lines inside a node that transfers reach."""
    overlap_slowdown: Slowdown = 1.0
    """Computing takes so many times as long while collectives run on the device."""

    def peak_for(self, datatype: str) -> int:
        """Operations per second of products of matrices; raises InputError if the device hasn't this datatype."""
        peaks = self.peak.by_datatype
        refuse(datatype not in peaks, f"device {self.name} has no peak for {datatype}, only for {', '.join(peaks)}")
        return peaks[datatype]


_Losses = Mapping[str, str | float]
_A100_LOSSES: _Losses = {"launch_overhead": "1.6us", "scale_up_efficiency": 0.71, "overlap_slowdown": 1.189}
_H100_LOSSES: _Losses = {**_A100_LOSSES, "scale_up_efficiency": 0.73}
_MI300X_LOSSES: _Losses = {**_A100_LOSSES, "scale_up_efficiency": 0.75}


def _device(
    name: str, peak: Mapping[str, str], vector: str | None, memory: str, memory_bandwidth: str, losses: _Losses
) -> tuple[str, Device]:
    device = {"name": name, "peak": peak, "vector": vector, "memory": memory, "memory_bandwidth": memory_bandwidth}
    return name, Device.model_validate({**device, **losses})


def _hopper(name: str, memory: str, memory_bandwidth: str) -> tuple[str, Device]:
    """An SXM module with 132 multiprocessors."""
    half = "989.4TFLOPS"
    peak = {
        "float32": "66.9TFLOPS",
        "tfloat32": "494.7TFLOPS",
        "bfloat16": half,
        "float16": half,
        "float8": "1978.9TFLOPS",
    }
    return _device(name, peak, "66.9TFLOPS", memory, memory_bandwidth, _H100_LOSSES)


_VOLTA = {"float32": "15.7TFLOPS", "float16": "125TFLOPS"}
_AMPERE = {"float32": "19.5TFLOPS", "tfloat32": "156TFLOPS", "bfloat16": "312TFLOPS", "float16": "312TFLOPS"}
_HOPPER_PCIE = {
    "float32": "51.2TFLOPS",
    "tfloat32": "378TFLOPS",
    "bfloat16": "756TFLOPS",
    "float16": "756TFLOPS",
    "float8": "1513TFLOPS",
}
_BLACKWELL = {
    "float32": "75TFLOPS",
    "tfloat32": "1.1PFLOPS",
    "bfloat16": "2.25PFLOPS",
    "float16": "2.25PFLOPS",
    "float8": "4.5PFLOPS",
}
_CDNA_3 = {
    "float32": "163.4TFLOPS",
    "tfloat32": "653.7TFLOPS",
    "bfloat16": "1307.4TFLOPS",
    "float16": "1307.4TFLOPS",
    "float8": "2614.9TFLOPS",
}

DEVICES: Mapping[str, Device] = dict(
    (
        _device("V100", _VOLTA, "15.7TFLOPS", "32GB", "900GB/s", _A100_LOSSES),
        _device("A100-40GB", _AMPERE, "19.5TFLOPS", "40GB", "1555GB/s", _A100_LOSSES),
        _device("A100-80GB", _AMPERE, "19.5TFLOPS", "80GB", "2039GB/s", _A100_LOSSES),
        _hopper("H100", "80GB", "3.35TB/s"),
        _device("H100-PCIe", _HOPPER_PCIE, "51.2TFLOPS", "80GB", "2TB/s", _H100_LOSSES),
        _hopper("H200", "141GB", "4.8TB/s"),
        _device("B200", _BLACKWELL, "75TFLOPS", "180GB", "7.7TB/s", _H100_LOSSES),
        _device("MI300X", _CDNA_3, "163.4TFLOPS", "192GB", "5.3TB/s", _MI300X_LOSSES),
        _device("TPUv4", {"bfloat16": "275TFLOPS"}, None, "32GiB", "1200GB/s", {}),
        _device("TPUv5p", {"bfloat16": "459TFLOPS"}, None, "95GB", "2765GB/s", {}),
    )
)
"""By name."""


def device_named(name: str) -> Device:
    """A device of the list, whatever its letters' case; raises ValueError with those there are."""
    by_lower = {known.lower(): device for known, device in DEVICES.items()}
    if name.lower() not in by_lower:
        known = ", ".join(DEVICES)
        raise ValueError(f"found '{name}', allowed: {known}, or a group of numbers{nearest(name, DEVICES)}")
    return by_lower[name.lower()]


def _by_name(value: object) -> object:
    return device_named(value) if isinstance(value, str) else value


NamedDevice = Annotated[Device, BeforeValidator(_by_name)]
"""A name of :data:`DEVICES`, or a group of its own numbers."""
