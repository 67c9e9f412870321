"""ResNet-50, data parallel, from the table of its architecture.

He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, table 1, with projections where a stage begins
(its option B) and the stride in the first 1x1 convolution of a block. A layer is a convolution with the batch
normalisation behind it, or the last, fully connected one; its weight gradient is all-reduced. Model limits, choices of
ours: each pass is one matrix product at the full compute rate, ``2 * batch`` times the layer's multiply-adds; only
convolutions and the last layer compute; gradients have 16 bits and travel layer by layer, not in buckets.
``README.md`` beside this file has the numbers.

    python inputs/workload/make_resnet_50.py FILE
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.model.convolution import ConvolutionShape, Residual
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.workload.files.astra_sim import format_workload
from astra_ns3.workload.generators.rates import A100_OPERATIONS_PER_NS, rounded_up, update_ns
from astra_ns3.workload.models.convolution import ImageLayer, layers_of

BLOCKS = (3, 4, 6, 3)
"""Of conv2_x to conv5_x."""


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


def resnet_workload(model: ResNetModel, source: str = "resnet-50") -> Workload:
    """Return the DATA loop of ``model``: 53 convolutions and the fully connected layer."""
    shape = ConvolutionShape(image=model.image, classes=model.classes, residual=Residual(blocks=BLOCKS))
    return Workload("DATA", tuple(_layer(model, layer) for layer in layers_of(shape)), None, source)


def _layer(model: ResNetModel, layer: ImageLayer) -> Layer:
    product_ns = rounded_up(2 * model.batch * layer.multiply_adds, model.operations_per_ns)
    gradient_bytes = layer.parameters * model.element_bytes
    return Layer(
        layer.name,
        forward=Pass(product_ns),
        input_gradient=Pass(product_ns),
        weight_gradient=Pass(product_ns, CollectiveKind.ALL_REDUCE, gradient_bytes),
        update_ns=update_ns(gradient_bytes),
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(format_workload(resnet_workload(ResNetModel())), encoding="utf-8", newline="\n")
