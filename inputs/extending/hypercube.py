"""A topology of one's own: a hypercube. hypercube.yaml, a network file, names it and gives its parameters."""

from astra_ns3.topology.graph import Graph, Link


def hypercube(order, rate, delay, buffer):
    """``2 ** order`` NPUs, each on a switch of its own; switches are joined where their numbers differ in one bit."""
    npus = 1 << order
    switch = [npus + number for number in range(npus)]  # hosts are nodes 0 to npus - 1, then come the switches
    links = [Link(host, switch[host], rate, delay, kind="host") for host in range(npus)]
    for bit in range(order):
        pairs = [(number, number | 1 << bit) for number in range(npus) if not number & 1 << bit]
        links += [Link(switch[low], switch[high], rate, delay, kind=f"bit-{bit}") for low, high in pairs]
    return Graph(
        hosts=npus,
        switches=npus,
        links=tuple(links),
        npu_host=tuple(range(npus)),  # the host of each NPU
        switch_buffer_bytes=(buffer,) * npus,
    )
