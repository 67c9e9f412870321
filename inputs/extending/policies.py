"""Policies of one's own, one of each kind; they depend on their arguments alone.

    astra-ns3 run ... --scheduling-policy inputs/extending/policies.py:largest_first \
        --intra-dimension-scheduling inputs/extending/policies.py:newest_first \
        --inter-dimension-scheduling inputs/extending/policies.py:outermost_first
"""


def largest_first(counter, request):
    """Which collective goes first: the one with the most bytes. The higher priority goes first."""
    return request.bytes, counter


def newest_first(running, waiting, newcomer):
    """Where a chunk joins the line of a dimension: before all that wait."""
    return 0


def outermost_first(chunk):
    """In which order a chunk goes through the dimensions: from the last one down."""
    return chunk.dimensions[::-1]
