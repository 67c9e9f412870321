"""Closed forms of collectives on a network without congestion; they import nothing of the program.

Source: ASTRA-sim 1.0, in which one phase of n ranks with data D (per rank) takes the times below; ``message`` is the
time of a message of so many bytes, ``endpoint`` the delay before the first send and after each reception. A message
that is added up costs ``3 * floor(bytes / 500000)`` ns more; of halving-doubling and trees ASTRA-sim 1.0 charges other
messages. Results are in the unit of ``message`` and ``endpoint``.
"""

from __future__ import annotations

from collections.abc import Callable

MessageTime = Callable[[int], int]


def reduction(bytes: int, unit: int = 1000, bytes_per_ns: int = 500_000) -> int:
    """Two reads and a write; ``unit``: how many units a nanosecond has."""
    return 3 * (bytes // bytes_per_ns) * unit


def ring_all_reduce(n: int, data: int, message: MessageTime, endpoint: int) -> int:
    """2(n-1) messages of D/n in sequence, the first n-1 reduced."""
    share = data // n
    return 2 * (n - 1) * (endpoint + message(share)) + endpoint + (n - 1) * reduction(share)


def ring_reduce_scatter(n: int, data: int, message: MessageTime, endpoint: int) -> int:
    """n-1 messages of D/n in sequence, all reduced."""
    share = data // n
    return (n - 1) * (endpoint + message(share) + reduction(share)) + endpoint


def ring_all_gather(n: int, data: int, message: MessageTime, endpoint: int) -> int:
    """n-1 messages of D in sequence."""
    return (n - 1) * (endpoint + message(data)) + endpoint


def ring_all_to_all(n: int, data: int, message: MessageTime, endpoint: int) -> int:
    """n(n-1)/2 messages of D/n in sequence."""
    return n * (n - 1) // 2 * (endpoint + message(data // n)) + endpoint


def direct_all_reduce(n: int, data: int, message: MessageTime, endpoint: int, window: int) -> int:
    """Two rounds of ceil((n-1)/window) batches; each batch takes a message and an endpoint delay."""
    share, batches = data // n, -(-(n - 1) // window)
    return endpoint + batches * (message(share) + endpoint + reduction(share)) + batches * (message(share) + endpoint)


def direct_all_to_all(n: int, data: int, message: MessageTime, endpoint: int, window: int) -> int:
    """One round of ceil((n-1)/window) batches of D/n."""
    return endpoint + -(-(n - 1) // window) * (message(data // n) + endpoint)


def halving_doubling_all_reduce(
    n: int, data: int, message: MessageTime, endpoint: int, bytes_per_ns: int = 500_000
) -> int:
    """log2(n) messages of D/2, D/4, ..., each reduced, and the same backwards."""
    sizes: list[int] = []
    size = data // 2
    while len(sizes) < n.bit_length() - 1:
        sizes.append(size)
        size //= 2
    return (
        endpoint
        + sum(2 * (message(size) + endpoint) for size in sizes)
        + sum(reduction(size, 1000, bytes_per_ns) for size in sizes)
    )


def double_binary_tree_all_reduce(
    n: int, data: int, message: MessageTime, endpoint: int, bytes_per_ns: int = 500_000
) -> int:
    """k = log2(n) levels up and down with the whole data, n a power of two; each level up is reduced."""
    levels = n.bit_length() - 1
    return 2 * levels * message(data) + (2 * levels + 1) * endpoint + levels * reduction(data, 1000, bytes_per_ns)
