"""Fits of times that were made with a known overhead and efficiency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from astra_ns3.config.nccl import NcclConfig
from astra_ns3.errors import InputError
from astra_ns3.frozen import replace
from astra_ns3.nccl.fitting import FitRow, Ours, fit, fit_efficiency, fit_overhead, fit_text, parse_fit

MIB = 1 << 20
STEPS = 30.0
SMALL = [1024 << place for place in range(8)]  # 1 to 128 KiB
LARGE = [256 * MIB, 512 * MIB, 1024 * MIB, 2048 * MIB]
NIC_GBYTES_PER_S = 50.0


def base_us(size: int, efficiency: float) -> float:
    return 10.0 + size / (NIC_GBYTES_PER_S * efficiency) / 1e3


def made(overheads: Mapping[str, float], efficiency: float, machine: str = "dgx-h100") -> list[FitRow]:
    """Rows as a cluster with these would measure them, without noise."""
    return [
        FitRow(
            "a.log" if size < MIB else "b.log",
            machine,
            protocol,
            size,
            base_us(size, efficiency) + STEPS * overheads[protocol],
            STEPS,
            nic_binds=size >= MIB,
            latency_binds=size < MIB,
        )
        for protocol, sizes in (("LL", SMALL), ("Simple", LARGE))
        if protocol in overheads
        for size in sizes
    ]


def ours_of(rows: Sequence[FitRow]) -> Ours:
    return lambda overhead_us, efficiency: [base_us(row.size_bytes, efficiency) + STEPS * overhead_us for row in rows]


def test_the_overhead_and_efficiency_that_were_put_in_come_out() -> None:
    rows = made({"LL": 1.5, "Simple": 0.0}, 0.92)
    found = fit(rows, ours_of(rows))
    assert found.efficiency is not None
    assert found.efficiency.value == pytest.approx(0.92, abs=0.003)
    assert found.efficiency.logs == ("b.log",)
    ll = found.overheads["dgx-h100", "LL"]
    assert ll.value == pytest.approx(1.5, abs=0.01)
    assert (ll.rows, ll.logs) == (8, ("a.log",))


def test_two_machines_have_each_their_own_overhead() -> None:
    rows = made({"LL": 1.0}, 1.0) + made({"LL": 4.0}, 1.0, machine="p5")
    found = fit(rows, ours_of(rows))
    assert found.overheads["dgx-h100", "LL"].value == pytest.approx(1.0)
    assert found.overheads["p5", "LL"].value == pytest.approx(4.0)


def test_one_odd_row_moves_neither_the_median_nor_the_quartiles() -> None:
    rows = made({"LL": 1.5}, 1.0)
    rows[0] = replace(rows[0], measured_us=rows[0].measured_us * 3)
    found = fit_overhead(rows, ours_of(rows), "dgx-h100", "LL")
    assert found.value == pytest.approx(1.5)
    assert found.quartiles == pytest.approx((1.5, 1.5))


def test_quartiles_are_those_of_the_rows() -> None:
    rows = made({"LL": 0.0}, 1.0)[:5]
    rows = [
        replace(row, measured_us=row.measured_us + STEPS * extra)
        for row, extra in zip(rows, (1, 2, 3, 4, 5), strict=True)
    ]
    found = fit_overhead(rows, ours_of(rows), "dgx-h100", "LL")
    assert found.value == pytest.approx(3.0)
    assert found.quartiles == pytest.approx((2.0, 4.0))


def test_without_rows_below_256_kib_no_overhead_of_ll_is_told() -> None:
    rows = [replace(row, size_bytes=MIB) for row in made({"LL": 1.0}, 1.0)]
    with pytest.raises(
        InputError,
        match=r"^dgx-h100 LL: no overhead is told: found 0 rows of several servers below 256 KiB, expected 3$",
    ):
        fit_overhead(rows, ours_of(rows), "dgx-h100", "LL")


def test_rows_that_bandwidth_decides_tell_no_overhead() -> None:
    rows = made({"Simple": 2.0}, 1.0)
    with pytest.raises(InputError, match="found 0 rows of several servers that latency binds"):
        fit_overhead(rows, ours_of(rows), "dgx-h100", "Simple")


def test_times_of_ours_that_are_too_long_already_tell_no_overhead() -> None:
    rows = [replace(row, measured_us=5.0) for row in made({"LL": 0.0}, 1.0)]
    with pytest.raises(InputError, match=r"our times without one are .* us a step too long"):
        fit_overhead(rows, ours_of(rows), "dgx-h100", "LL")


def test_rows_that_disagree_about_the_sign_tell_no_overhead() -> None:
    rows = made({"LL": 0.0}, 1.0)[:5]
    rows = [
        replace(row, measured_us=row.measured_us + STEPS * extra)
        for row, extra in zip(rows, (-0.2, -0.1, 0.1, 3, 4), strict=True)
    ]
    with pytest.raises(InputError, match=r"rows disagree, half of them say -0\.10 to 3\.00 us a step"):
        fit_overhead(rows, ours_of(rows), "dgx-h100", "LL")


def test_without_rows_that_a_nic_binds_no_efficiency_is_told() -> None:
    rows = [replace(row, nic_binds=False) for row in made({"Simple": 0.0}, 0.9)]
    with pytest.raises(InputError, match="no efficiency is told: found 0 rows that a NIC binds"):
        fit_efficiency(rows, ours_of(rows), {})


def test_an_efficiency_below_all_sense_is_refused() -> None:
    rows = made({"Simple": 0.0}, 0.2)
    with pytest.raises(InputError, match="something else binds"):
        fit_efficiency(rows, ours_of(rows), {})


def test_what_is_not_told_stands_beside_what_is() -> None:
    rows = made({"LL": 1.5}, 1.0)
    found = fit(rows, ours_of(rows))
    assert found.efficiency is None
    assert found.refused == ("no efficiency is told: found 0 rows that a NIC binds, expected 3",)


def test_one_server_has_no_steps_and_tells_no_overhead() -> None:
    rows = [replace(row, steps=0.0) for row in made({"LL": 1.5}, 1.0)]
    with pytest.raises(InputError, match="found 0 rows of several servers below 256 KiB"):
        fit_overhead(rows, lambda overhead_us, efficiency: [10.0 for _ in rows], "dgx-h100", "LL")


def test_what_is_written_are_keys_of_the_table_nccl_with_the_spread_in_comments() -> None:
    rows = made({"LL": 1.5, "Simple": 0.0}, 0.95)
    text = fit_text(fit(rows, ours_of(rows)), "dgx-h100")
    assert "# LL: 1.50 us (half of 8 rows: 1.50 to 1.50) from a.log" in text
    assert "# nic-efficiency: 0.950 (half of 4 rows: 0.950 to 0.950) from b.log" in text
    assert "# not told: dgx-h100 Simple: no overhead is told" in text
    keys = parse_fit(text)
    assert keys == {"server": "dgx-h100", "host-overhead": {"LL": 1.5}, "nic-efficiency": 0.95}
    table = NcclConfig.model_validate(keys)
    assert [table.overhead_us(protocol) for protocol in ("LL", "LL128", "Simple")] == [1.5, 0.0, 0.0]


def test_a_fit_of_several_machines_is_not_written_as_that_of_one() -> None:
    rows = made({"LL": 1.0}, 1.0) + made({"LL": 4.0}, 1.0, machine="p5")
    with pytest.raises(InputError, match="found a fit of 'p5', expected one of 'dgx-h100' alone"):
        fit_text(fit(rows, ours_of(rows)), "dgx-h100")


@pytest.mark.parametrize(
    "text", ["", "{", "server: 3\nx: 1", "host-overhead: {LL: 3}", "server: a\nhost-overhead: {LL: b}"]
)
def test_other_texts_are_no_fit(text: str) -> None:
    with pytest.raises(InputError, match="found no fit") as raised:
        parse_fit(text)
    assert "\n" not in str(raised.value)


def test_a_fit_by_hand_may_have_one_overhead_for_all_protocols() -> None:
    text = "server: dgx-h100\nhost-overhead: 12.0\nnic-efficiency: 0.8\n"
    assert parse_fit(text) == {"server": "dgx-h100", "host-overhead": 12.0, "nic-efficiency": 0.8}


@pytest.mark.parametrize(
    ("key", "text"), [("nic-efficiency", "server: a\nnic-efficiency: x"), ("nic", "server: a\nnic: 1")]
)
def test_the_wrong_key_of_a_fit_is_named(key: str, text: str) -> None:
    with pytest.raises(InputError, match=rf"found no fit \(key '{key}': .*\), expected server"):
        parse_fit(text)


def test_logs_that_tell_nothing_are_refused_in_one_line() -> None:
    rows = [replace(row, nic_binds=False) for row in made({"Simple": 0.0}, 1.0)]
    with pytest.raises(InputError, match="tell neither an overhead nor an efficiency") as raised:
        fit(rows, ours_of(rows))
    assert "\n" not in str(raised.value)


def test_times_of_ours_must_be_base_and_steps() -> None:
    rows = made({"LL": 1.5}, 1.0)
    with pytest.raises(InputError, match=r"a.log: 1024 bytes: 1 us of overhead adds 60 us to our time, expected 30"):
        fit(rows, lambda overhead_us, efficiency: [10.0 + 60 * overhead_us for _ in rows])
    with pytest.raises(InputError, match="found 1 times of ours, expected one for each of 8 rows"):
        fit(rows, lambda overhead_us, efficiency: [10.0])


def test_rows_without_sense_are_refused() -> None:
    rows = [replace(made({"LL": 1.5}, 1.0)[0], measured_us=0.0)]
    with pytest.raises(InputError, match=r"a.log: found 0 us"):
        fit(rows, ours_of(rows))
