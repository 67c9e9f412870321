"""Where the times of a model's operations come from: the roofline, devices, times that are given, and their keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import ConfigModel, validated
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.model.compute import AnyCompute, Compute, Roofline, Systolic, Table
from astra_ns3.config.model.devices import DEVICES
from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.errors import InputError, nearest
from astra_ns3.workload.computing.clocks import CLOCKS, clock_of

SIZE = 4096
PRODUCT = Operation("product", OperationKind.MATMUL, 2 * SIZE**3, 3 * 2 * SIZE**2, (SIZE, SIZE, SIZE))
STREAM = Operation("norm", OperationKind.ELEMENTWISE, bytes=300_000_000)


class Section(ConfigModel):
    compute: Compute


def compute(text: str) -> AnyCompute:
    return validated(Section, parse_yaml(f"compute: {text}", "folder/model.yaml")).compute


# Matrix operations of a cycle x frequency, from the vendors' descriptions of the architectures: multiprocessors (TPUs:
# matrix units of 128 x 128 cells) x multiply-adds of each x 2.
OPERATIONS_OF_A_SECOND = {
    ("V100", "float16"): 80 * 8 * 64 * 2 * 1.53e9,
    ("A100-40GB", "bfloat16"): 108 * 4 * 256 * 2 * 1.41e9,
    ("A100-80GB", "float16"): 108 * 4 * 256 * 2 * 1.41e9,
    ("H100", "bfloat16"): 132 * 4 * 512 * 2 * 1.83e9,
    ("H100", "float8"): 132 * 4 * 1024 * 2 * 1.83e9,
    ("H200", "bfloat16"): 132 * 4 * 512 * 2 * 1.83e9,
    ("H100-PCIe", "bfloat16"): 114 * 4 * 512 * 2 * 1.62e9,
    ("MI300X", "bfloat16"): 304 * 4 * 256 * 2 * 2.1e9,
    ("MI300X", "float8"): 304 * 4 * 512 * 2 * 2.1e9,
    ("TPUv4", "bfloat16"): 8 * 128 * 128 * 2 * 1.05e9,
    ("TPUv5p", "bfloat16"): 8 * 128 * 128 * 2 * 1.75e9,
}


@pytest.mark.parametrize(("device", "datatype"), OPERATIONS_OF_A_SECOND)
def test_peaks_are_what_the_matrix_units_do_in_a_second(device: str, datatype: str) -> None:
    peak = DEVICES[device].peak_for(datatype)
    assert peak == pytest.approx(OPERATIONS_OF_A_SECOND[device, datatype], rel=0.005)  # frequencies have three digits


# Interface width in bits x bits of a pin in a second.
BITS_OF_A_SECOND = {
    "V100": 4096 * 1.752e9,
    "A100-40GB": 5120 * 2.43e9,
    "A100-80GB": 5120 * 3.186e9,
    "H100": 5120 * 5.23e9,
    "H100-PCIe": 5120 * 3.186e9,
    "H200": 6144 * 6.25e9,
    "MI300X": 8192 * 5.2e9,
    "TPUv4": 4096 * 2.4e9,
}


@pytest.mark.parametrize("device", BITS_OF_A_SECOND)
def test_memory_bandwidths_are_what_the_interface_does_in_a_second(device: str) -> None:
    # Data sheets round, the H100-PCIe's 2,039 GB/s even to 2 TB/s.
    assert 8 * DEVICES[device].memory_bandwidth == pytest.approx(BITS_OF_A_SECOND[device], rel=0.025)


def test_every_device_trains_in_bfloat16_or_float16() -> None:
    assert all({"bfloat16", "float16"} & device.peak.by_datatype.keys() for device in DEVICES.values())


def test_a_product_that_the_processors_limit_takes_its_operations_over_the_peak() -> None:
    clock = clock_of(compute("{device: H100, efficiency: 1, memory_efficiency: 1, launch_overhead: 0}"))
    assert clock.time_ps(PRODUCT) == 138_911_415  # 2 x 4096^3 / 989.4 per ps is 138,911,414.5
    assert not clock.memory_bound(PRODUCT)
    half = clock_of(compute("{device: H100, efficiency: 0.5, memory_efficiency: 1, launch_overhead: 0}"))
    assert half.time_ps(PRODUCT) == 277_822_829  # rounded up after the division


def test_a_stream_takes_its_bytes_over_the_bandwidth() -> None:
    clock = clock_of(compute("{device: H100, launch_overhead: 0}"))
    assert clock.time_ps(STREAM) == 111_940_299  # 300 MB / (0.8 x 3.35 TB/s) is 111,940,298.5 ps
    assert clock.memory_bound(STREAM)


def test_every_operation_takes_the_overhead_besides() -> None:
    clock = clock_of(compute("{device: H100, launch_overhead: 4us}"))
    assert clock.time_ps(STREAM) == 111_940_299 + 4_000_000
    assert clock.time_ps(Operation("nothing", OperationKind.OPTIMIZER)) == 4_000_000


@given(flops=st.integers(0, 10**18), moved=st.integers(0, 10**14), kind=st.sampled_from(OperationKind))
def test_the_longer_of_both_counts_for_every_kind(flops: int, moved: int, kind: OperationKind) -> None:
    keys = compute(
        "{device: {name: mine, peak: {bfloat16: 1TFLOPS}, vector: 1TFLOPS, memory: 1GB, memory_bandwidth: "
        "1TB/s}, efficiency: 1, memory_efficiency: 1}"
    )
    assert clock_of(keys).time_ps(Operation("any", kind, flops, moved)) == max(flops, moved)


def test_float8_is_of_products_and_not_of_attention() -> None:
    attention = replace(PRODUCT, kind=OperationKind.ATTENTION)
    exact = "{device: H100, efficiency: 1, memory_efficiency: 1, launch_overhead: 0}"
    halves, bytes_ = clock_of(compute(exact), "bfloat16"), clock_of(compute(exact), "float8")
    assert bytes_.time_ps(PRODUCT) == 69_452_198  # 2 x 4096^3 / 1978.9 per ps is 69,452,197.4
    assert bytes_.time_ps(attention) == halves.time_ps(attention)


def test_a_scale_multiplies_every_time_and_a_given_time_asks_no_clock() -> None:
    clock = clock_of(compute("{kind: given}"), scale=1.5)
    given_time = Operation("given", OperationKind.MATMUL, time_ps=1001)
    assert clock.time_ps(given_time) == 1502  # rounded up
    assert not clock.memory_bound(given_time)
    with pytest.raises(InputError, match="'product' says no time"):
        clock.time_ps(PRODUCT)


def test_a_datatype_that_the_device_has_not_is_an_error() -> None:
    with pytest.raises(InputError, match="device V100 has no peak for bfloat16, only for float32, float16"):
        clock_of(compute("V100"), "bfloat16")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("H1000", "found 'H1000', allowed: V100, .*; did you mean 'H100'?"),
        ("{kind: roofing}", "found 'roofing', allowed: roofline, table, systolic, given; did you mean 'roofline'?"),
        (
            "{efficiency: {matmull: 1}}",
            "key 'compute.efficiency.matmull': unknown key; .*did you mean 'compute.efficiency.matmul'?",
        ),
        ("{efficiency: {matmul: 1.5}}", "key 'compute.efficiency.matmul': found 1.5, expected less than or equal to 1"),
        ("{device: {name: a, peak: {}, memory: 1GB, memory_bandwidth: 1TB/s}}", "key 'compute.device.peak.bfloat16'"),
        (
            "{device: {name: a, peak: {float16: 3TFLOP}, memory: 1GB, memory_bandwidth: 1TB/s}}",
            "'3TFLOP' is not a performance: .*did you mean 'TFLOPS'?",
        ),
        (
            "{device: {name: a, peak: {float16: 3TFLOPS}, memory: 1GB, memory_bandwidth: 1Tbps}}",
            "'1Tbps' is not a memory bandwidth",
        ),
        ("{kind: table}", "key 'compute.file' is missing"),
        (
            "{kind: systolic, rows: 8, columns: 8, frequency: 1GHz, outputs_drain: true}",
            "needs method: closed_form and dataflow: output_stationary",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_key(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compute(text)


@pytest.mark.parametrize(
    "text",
    [
        "TPUv5p",
        "{device: A100-80GB, efficiency: 0.5, memory_efficiency: {gather: 0.25}, launch_overhead: 4.5us}",
        "{kind: systolic, rows: 128, columns: 128, arrays: 4, frequency: 940MHz, device: TPUv4}",
        "{kind: given}",
    ],
)
def test_keys_written_down_are_read_back_alike(text: str) -> None:
    keys = compute(text)
    assert validated(Section, Document("again", Section(compute=keys).document())).compute == keys


def test_the_memory_is_the_devices_and_a_tables_file_stands_beside_the_model_file() -> None:
    assert compute("h100").memory_bytes == 80_000_000_000
    assert compute("{kind: given}").memory_bytes is None
    table = compute("{kind: table, file: times.csv}")
    assert isinstance(table, Table)
    assert table.memory_bytes is None
    assert table.file == str(Path("folder/times.csv").absolute())


def test_every_kind_of_keys_has_a_clock() -> None:
    assert {Roofline, Table, Systolic} < CLOCKS.keys()
    assert len(CLOCKS) == 4


def test_of_names_those_that_begin_with_what_was_written_are_nearest() -> None:
    assert nearest("a100", DEVICES) in {f"; did you mean 'A100-{memory}'?" for memory in ("40GB", "80GB")}
    assert nearest("V10", DEVICES) == "; did you mean 'V100'?"
    assert nearest("x", DEVICES) == ""
