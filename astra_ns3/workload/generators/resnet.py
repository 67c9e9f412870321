"""ResNet-50, data parallel, from the table of its architecture.

He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, table 1, with projections where a stage begins
(its option B) and the stride in the first 1x1 convolution of a block. A layer is a convolution with the batch
normalisation behind it, or the last, fully connected one; its weight gradient is all-reduced. Model limits, choices of
ours: each pass is one matrix product at the full compute rate, ``2 * batch`` times the layer's multiply-adds; only
convolutions and the last layer compute; gradients have 16 bits and travel layer by layer, not in buckets.
``inputs/workload/README.md`` has the numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.workload.files.astra_sim import format_workload
from astra_ns3.workload.generators.rates import A100_OPERATIONS_PER_NS, rounded_up, update_ns

BOTTLENECK_EXPANSION = 4
"""A block's last convolution has four times the channels of the two before it."""

STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
"""Blocks and inner channels of conv2_x to conv5_x."""

FIRST_STAGE = 2
"""The table's number of the first of them."""


@dataclass(frozen=True)
class ResNetModel:
    """What a data-parallel ResNet-50 runs on; the defaults are ``inputs/workload/resnet-50.txt``."""

    batch: int = 32
    """Images per NPU and iteration."""
    image: int = 224
    """Pixels along each side of an image."""
    classes: int = 1000
    element_bytes: int = 2
    operations_per_ns: int = A100_OPERATIONS_PER_NS


@dataclass(frozen=True)
class Convolution:
    """A convolution and the batch normalisation behind it, or the fully connected layer."""

    name: str
    kernel: int
    """Weights along each side; 1 for the fully connected layer."""
    inputs: int
    outputs: int
    size: int
    """Pixels along each side of its output; 1 for the fully connected layer."""
    vectors: int = 2
    """Parameters besides weights, as multiples of ``outputs``: scale and shift, or the bias."""

    @property
    def parameters(self) -> int:
        """How many it learns."""
        return self.kernel**2 * self.inputs * self.outputs + self.vectors * self.outputs

    @property
    def multiply_adds(self) -> int:
        """Of one image's forward pass; those of the normalisation are left out."""
        return self.kernel**2 * self.inputs * self.outputs * self.size**2


def resnet_layers(model: ResNetModel) -> tuple[Convolution, ...]:
    """The 53 convolutions and the fully connected layer, in the order of the forward pass."""
    size = model.image // 2
    layers = [Convolution("conv1", 7, 3, 64, size)]
    channels, size = 64, size // 2  # max pooling halves it
    for stage, (blocks, width) in enumerate(STAGES, start=FIRST_STAGE):
        if stage > FIRST_STAGE:  # the first keeps what pooling left
            size //= 2
        for block in range(1, blocks + 1):
            layers += _bottleneck(f"conv{stage}_{block}", channels, width, size)
            channels = BOTTLENECK_EXPANSION * width
    return (*layers, Convolution("fc", 1, channels, model.classes, 1, vectors=1))


def resnet_workload(model: ResNetModel, source: str = "resnet-50") -> Workload:
    """The DATA loop of ``model``."""
    return Workload("DATA", tuple(_layer(model, convolution) for convolution in resnet_layers(model)), None, source)


def resnet_50() -> str:
    """The text of ``inputs/workload/resnet-50.txt``, for any number of NPUs."""
    return format_workload(resnet_workload(ResNetModel()))


def _bottleneck(name: str, inputs: int, width: int, size: int) -> Iterator[Convolution]:
    """1x1, 3x3, 1x1; and where the channels change, which is where a stage begins, the shortcut's 1x1."""
    outputs = BOTTLENECK_EXPANSION * width
    yield Convolution(f"{name}_1x1a", 1, inputs, width, size)
    yield Convolution(f"{name}_3x3", 3, width, width, size)
    yield Convolution(f"{name}_1x1b", 1, width, outputs, size)
    if inputs != outputs:
        yield Convolution(f"{name}_shortcut", 1, inputs, outputs, size)


def _layer(model: ResNetModel, convolution: Convolution) -> Layer:
    product_ns = rounded_up(2 * model.batch * convolution.multiply_adds, model.operations_per_ns)
    gradient_bytes = convolution.parameters * model.element_bytes
    return Layer(
        convolution.name,
        forward=Pass(product_ns),
        input_gradient=Pass(product_ns),
        weight_gradient=Pass(product_ns, CollectiveKind.ALL_REDUCE, gradient_bytes),
        update_ns=update_ns(gradient_bytes),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the workload: ``python -m astra_ns3.workload.generators.resnet FILE``."""
    parser = argparse.ArgumentParser(description="Write the workload of a data-parallel ResNet-50.")
    parser.add_argument("file", type=Path, help="where to write, e.g. inputs/workload/resnet-50.txt")
    parser.parse_args(arguments).file.write_text(resnet_50(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
