"""A training loop of one's own: gradient accumulation. accumulate.txt, a workload, names it on its first line."""

from astra_ns3.playing.loops.steps import MOVE, WEIGHT_GRADIENT

PASSES_PER_UPDATE = 4


def accumulate(steps, role):
    """Data parallel, but gradients are exchanged once every four passes, and after the last."""
    for number in steps.passes:
        exchanges = (number + 1) % PASSES_PER_UPDATE == 0 or number == steps.passes[-1]
        for layer in steps.forwards:
            yield from steps.forward_compute(number, layer)  # waits for the layer's last exchange
            yield MOVE
        for layer in steps.backwards:
            yield from steps.compute(number, layer, WEIGHT_GRADIENT)
            if exchanges:
                yield from steps.issue(number, layer, WEIGHT_GRADIENT)
            yield MOVE
    yield from steps.drain()
