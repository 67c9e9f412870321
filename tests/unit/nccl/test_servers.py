"""Ready servers: sums of links, places of NICs, and names."""

from __future__ import annotations

import pytest

from astra_ns3.errors import InputError
from astra_ns3.nccl.server import Server
from astra_ns3.nccl.servers import SERVERS, parse_servers, server_named

EVERY = pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
# Gbit/s of all NICs of a server, by the vendors' pages.
NETWORK = {
    "dgx-1v": 400,
    "dgx-2": 800,
    "dgx-a100": 1600,
    "hgx-a100": 1600,
    "dgx-h100": 3200,
    "hgx-h100": 3200,
    "dgx-h200": 3200,
    "hgx-h200": 3200,
    "dgx-b200": 3200,
    "hgx-b200": 3200,
    "gb200-nvl72": 18 * 1600,
    "gb300-nvl72": 18 * 3200,
    "a3-mega": 1600,
    "p4d": 400,
    "p4de": 400,
    "p5": 3200,
    "p5e": 3200,
    "p6-b200": 3200,
    "h20": 3200,
    "a100-slingshot": 400,
    "gh200-slingshot": 800,
}


def test_all_nics_together_give_what_the_vendor_says() -> None:
    assert {name: sum(nic.gbits_per_s for nic in server.nics) for name, server in SERVERS.items()} == NETWORK


@EVERY
def test_links_of_one_gpu_carry_25_gbytes_per_second_each_and_50_on_blackwell(server: Server) -> None:
    each = 50 if server.compute_capability >= 100 else 25
    assert server.nvlink_gbytes_per_s == server.nvlinks * each


@EVERY
def test_nics_are_near_gpus_that_are_there(server: Server) -> None:
    assert all(nic.near and set(nic.near) <= set(range(server.gpus)) for nic in server.nics)


@EVERY
def test_joined_gpus_use_all_their_links_and_every_link_once(server: Server) -> None:
    if server.switched:
        assert server.pairs == ()
        return
    assert len({(one, other) for one, other, _ in server.pairs}) == len(server.pairs)
    for gpu in range(server.gpus):
        assert sum(links for one, other, links in server.pairs if gpu in (one, other)) == server.nvlinks


@EVERY
def test_switches_add_from_hopper_on(server: Server) -> None:
    assert server.multicast == (server.switched and server.compute_capability >= 90)


@EVERY
def test_every_server_names_its_source(server: Server) -> None:
    assert server.source
    assert "{" not in server.source


def test_a_dgx_1_joins_opposite_gpus_of_its_two_quads() -> None:
    across = {(one, other): links for one, other, links in SERVERS["dgx-1v"].pairs if one < 4 <= other}
    assert across == {(0, 4): 2, (1, 5): 2, (2, 6): 1, (3, 7): 1}


@pytest.mark.parametrize(
    ("text", "count", "name"),
    [("dgx-h100", 1, "dgx-h100"), ("2xdgx-h100", 2, "dgx-h100"), (" 16 x DGX-2 ", 16, "dgx-2"), ("3*p4d", 3, "p4d")],
)
def test_a_number_and_a_name_are_read(text: str, count: int, name: str) -> None:
    assert parse_servers(text) == (count, server_named(name))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("dgx-h10", "server 'dgx-h10' is not one of dgx-1v.*did you mean 'dgx-h100'"),
        ("0xdgx-h100", "expected 1 to 1,000,000 servers"),
        ("2x", "server '2x' is not one of"),
        ("", "expected a number and a server"),
        ("2 dgx-h100", "expected a number and a server"),
        ("2xdgx-h100 8", "expected a number and a server"),
    ],
)
def test_other_texts_are_refused_in_one_line(text: str, error: str) -> None:
    with pytest.raises(InputError, match=error) as raised:
        parse_servers(text)
    assert "\n" not in str(raised.value)
