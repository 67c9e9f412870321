"""Text with a unit to integers and back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_ns3 import units
from astra_ns3.errors import InputError
from astra_ns3.units import counted, ordinal, without_numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500KB", 500_000),
        ("0.5MB", 500_000),
        ("1GiB", 1_073_741_824),
        ("1.5KiB", 1_536),
        ("64 MB", 64_000_000),
        ("7B", 7),
        ("9", 9),
        (1_000_000_000, 1_000_000_000),
        (0, 0),
        ("1TiB", 1_099_511_627_776),
    ],
)
def test_sizes_are_read_to_the_byte(text: str | int, expected: int) -> None:
    assert units.parse_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100Gbps", 100_000_000_000),
        ("100Gb/s", 100_000_000_000),
        ("100 Gbit/s", 100_000_000_000),
        ("2.5Tbps", 2_500_000_000_000),
        ("40Mb/s", 40_000_000),
        ("8kbps", 8_000),
        (5_000_000, 5_000_000),
        ("1bps", 1),
        ("100e9", 100_000_000_000),
        ("1e2Gbps", 100_000_000_000),
        ("1.5E+3Mbps", 1_500_000_000),
    ],
)
def test_rates_are_read_to_the_bit_per_second(text: str | int, expected: int) -> None:
    assert units.parse_rate(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500ns", 500_000),
        ("0.5us", 500_000),
        ("0.5µs", 500_000),
        ("10ms", 10_000_000_000),
        ("1s", 1_000_000_000_000),
        ("1ps", 1),
        ("20.72ns", 20_720),
        (0, 0),
        (0.0, 0),
        ("0", 0),
    ],
)
def test_times_are_read_to_the_picosecond(text: str | float, expected: int) -> None:
    assert units.parse_time_ps(text) == expected


@pytest.mark.parametrize(
    "text", ["-1KB", "1.0001KB", "1kB", "5Kb", "", "MB", "1 2MB", "nan", "inf", "1e-6B", "0x10", True]
)
def test_what_is_not_a_whole_number_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        units.parse_bytes(text)


@pytest.mark.parametrize(
    "text", ["-1Gbps", "100GB/s", "1e", "1e-3", "e9", "1e100", "100G", "0.5bps", "fast", "", False]
)
def test_what_is_not_a_rate_in_bits_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        units.parse_rate(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("25GiB/s", "214.7483648Gbps"), ("1MiB/s", "8.388608Mbps"), ("3KiB/s", "24.576kbps"), ("25GB/s", "200Gbps")],
)
def test_a_rate_in_bytes_is_refused_with_the_same_rate_in_bits(text: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"did you mean '{meant}' \(8 bits a byte\)"):
        units.parse_rate(text)
    assert units.parse_rate(meant) == 8 * units.parse_bytes(text.removesuffix("/s"))


@pytest.mark.parametrize("value", [80, "80", 999])
def test_a_memory_without_unit_that_no_device_has_is_refused_with_gigabytes(value: str | int) -> None:
    with pytest.raises(InputError, match=f"has no unit and would be {value} bytes; did you mean '{value}GB'"):
        units.parse_memory(value)
    assert units.parse_memory(80_000_000_000) == units.parse_memory("80GB")
    assert units.parse_memory("80B") == 80


@pytest.mark.parametrize("value", [100, "100", 999_999])
def test_a_rate_without_unit_that_no_network_has_is_refused(value: str | int) -> None:
    with pytest.raises(InputError, match="has no unit and would be"):
        units.parse_rate(value)
    assert units.parse_rate(1_000_000) == units.parse_rate("1Mbps")


@pytest.mark.parametrize("text", ["-5ns", 5, 0.5, "5", "0.1ps", "5 minutes", "", float("nan"), float("inf"), True])
def test_what_is_not_a_time_with_a_unit_is_refused(text: str | float) -> None:
    with pytest.raises(InputError):
        units.parse_time_ps(text)


def test_values_that_64_bits_cannot_hold_are_refused() -> None:
    assert units.parse_time_ps("9223372036854775807ps") == 9_223_372_036_854_775_807
    with pytest.raises(InputError, match="too large"):
        units.parse_time_ps("9223372036854775808ps")
    with pytest.raises(InputError, match="too large"):
        units.parse_bytes("10000000TB")


@pytest.mark.parametrize(
    ("text", "bits", "same"),
    [
        ("100GB", "800Gbps", "100Gbps"),
        ("12.5 GB/s", "100Gbps", "12.5Gbps"),
        ("1KBps", "8kbps", "1kbps"),
        ("5B/s", "40bps", "5bps"),
    ],
)
def test_a_rate_in_bytes_is_answered_with_that_in_bits(text: str, bits: str, same: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{bits}' \\(8 bits a byte\\) or '{same}'") as refused:
        units.parse_rate(text)
    assert "\n" not in str(refused.value)
    assert units.parse_rate(bits) == 8 * units.parse_rate(same)


@pytest.mark.parametrize(
    ("parse", "text", "bytes_", "same"),
    [
        (units.parse_bytes, "16Mb", "2MB", "16MB"),
        (units.parse_bytes, "4 kbit", "0.5KB", "4KB"),
        (units.parse_bytes, "8Gib", "1GiB", "8GiB"),
        (units.parse_bytes, "8bits", "1B", "8B"),
        (units.parse_byte_rate, "20Gb/s", "2.5GB/s", "20GB/s"),
    ],
)
def test_a_size_in_bits_is_answered_with_that_in_bytes(
    parse: Callable[[str], int], text: str, bytes_: str, same: str
) -> None:
    with pytest.raises(InputError, match=f"did you mean '{bytes_}' \\(8 bits a byte\\) or '{same}'"):
        parse(text)
    assert 8 * parse(bytes_) == parse(same)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("5b", ", and this is no whole number of bytes: did you mean '5B'?"),
        ("0.001kb", ", and this is no whole number of bytes: did you mean '0.001KB'?"),
        ("0.5b", ", and this is no whole number of bytes"),
    ],
)
def test_no_part_of_a_byte_is_suggested_for_bits(text: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        units.parse_bytes(text)
    assert str(refused.value).endswith(f"; B is a byte and b a bit{hint}")


def test_a_wrong_unit_is_answered_with_the_allowed_ones_and_the_nearest() -> None:
    with pytest.raises(InputError, match=r"'100G' is not a rate: unit 'G' is not .*; did you mean '100Gbps'\?"):
        units.parse_rate("100G")
    with pytest.raises(InputError, match=r"'100Gps' is not a rate: unit 'Gps' .*Gbps.*; did you mean 'Gbps'\?"):
        units.parse_rate("100Gps")


def test_a_time_without_unit_is_answered_with_the_units() -> None:
    with pytest.raises(InputError, match=r"500 has no unit.*ps, ns, us, ms, s"):
        units.parse_time_ps(500)


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_exact_time_reads_back_to_the_same_picosecond(time_ps: int) -> None:
    assert units.parse_time_ps(units.exact_time(time_ps)) == time_ps


def test_exact_time_uses_the_largest_unit_that_divides() -> None:
    assert [units.exact_time(t) for t in (0, 1, 1_500, 500_000, 10**10, 3 * 10**12)] == [
        "0ps",
        "1ps",
        "1500ps",
        "500ns",
        "10ms",
        "3s",
    ]


@given(st.integers(min_value=1, max_value=2**63 - 1))
def test_exact_rates_and_sizes_read_back(number: int) -> None:
    assert units.parse_rate(units.exact_rate(number)) == number
    assert units.parse_bytes(units.exact_bytes(number)) == number


def test_exact_rates_and_sizes_are_as_short_as_can_be() -> None:
    rates = (10**11, 4 * 10**11, 25 * 10**8, 10**12, 7, 0)
    assert [units.exact_rate(rate) for rate in rates] == ["100Gbps", "400Gbps", "2500Mbps", "1Tbps", "7bps", "0bps"]
    sizes = (5 * 10**5, 10**9, 32 << 20, 1500, 0)
    assert [units.exact_bytes(size) for size in sizes] == ["500KB", "1GB", "32MiB", "1500B", "0B"]


def test_numbers_are_shown_with_four_digits_and_a_fitting_unit() -> None:
    assert units.format_time(1_234_567) == "1.235 us"
    assert units.format_time(0) == "0 ps"
    assert units.format_time(999_960) == "1 us"
    assert units.format_time(12_345 * 10**12) == "12345 s"
    assert units.format_bytes(524_288) == "524.3 KB"
    assert units.format_bytes(10**9) == "1 GB"
    assert units.format_bytes(999) == "999 B"
    assert units.format_rate(10**11) == "100 Gb/s"


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (units.parse_flops, "989.4TFLOPS", 989_400_000_000_000),
        (units.parse_flops, "2.25 PFLOP/s", 2_250_000_000_000_000),
        (units.parse_flops, 7, 7),
        (units.parse_byte_rate, "3.35TB/s", 3_350_000_000_000),
        (units.parse_byte_rate, "1.5GiB/s", 1_610_612_736),
        (units.parse_byte_rate, "900GB/s", 900_000_000_000),
        (units.parse_frequency, "940MHz", 940_000_000),
        (units.parse_frequency, "1.05GHz", 1_050_000_000),
    ],
)
def test_what_devices_do_in_a_second_is_read_exactly(
    parse: Callable[[str | int], int], text: str | int, expected: int
) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        (units.parse_flops, "3TFLOP", "'3TFLOP' is not a performance: .*did you mean 'TFLOPS'?"),
        (units.parse_flops, "-1TFLOPS", "is not a performance: write a number that is not negative"),
        (units.parse_byte_rate, "900Gbps", "'900Gbps' is not a memory bandwidth: unit 'Gbps' is not one of"),
        (units.parse_frequency, "1GHZ", "did you mean 'GHz'?"),
        (units.parse_frequency, "0.5Hz", "is not a whole number of Hz"),
    ],
)
def test_other_words_for_it_are_errors(parse: Callable[[str], int], text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("number", "words"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (113, "113th"), (122, "122nd")],
)
def test_ordinals_have_their_own_endings(number: int, words: str) -> None:
    assert ordinal(number) == words


@pytest.mark.parametrize(("number", "words"), [(0, "0 boxes"), (1, "1 box"), (2000, "2,000 boxes")])
def test_one_is_not_many(number: int, words: str) -> None:
    assert counted(number, "box", "boxes") == words
    assert counted(number, "cell").endswith("cell" if number == 1 else "cells")


def test_words_are_alike_whose_numbers_differ_but_no_names() -> None:
    alike = ("1 pass", "2 passes"), ("1 switch", "3 switches"), ("1 entry", "7 entries"), ("is 5 us", "is 1.2 ms")
    assert all(without_numbers(one) == without_numbers(other) for one, other in alike)
    apart = ("of 'web1'", "of 'web2'"), ("job-1: late", "job-2: late"), ("m1.yaml: 3", "m2.yaml: 3")
    assert all(without_numbers(one) != without_numbers(other) for one, other in apart)
