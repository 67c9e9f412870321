"""Networks of convolutions, residual or plain, data parallel or in stages; every layer is a block.

Sources: K. He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, table 1, with projections where a
stage begins (its option B); K. Simonyan, A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
Recognition", 2014, table 1. Model limits: a convolution is one product of matrices, of as many rows as its output has
pixels. The first one needs no gradient of its input; additions of shortcuts take no time. Stages send each other the
largest of the outputs where the model is cut, before pooling and without shortcuts that go further.
"""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.model.convolution import ConvolutionFile, ConvolutionShape, Plain, Residual
from astra_ns3.config.training_plan import Degrees, Operation, OperationKind
from astra_ns3.frozen import dataclass, replace
from astra_ns3.workload.models.parts import Parts, Totals
from astra_ns3.workload.models.piece import Piece, block_of
from astra_ns3.workload.models.sized_operations import Linear, elementwise

# A bottleneck's last convolution has four times the channels of the two before it.
_EXPANSION = 4


@dataclass(frozen=True)
class ImageLayer:
    """A convolution, or (``kernel`` and ``size`` 1, not ``normed``) a fully connected layer.

    ``size``: pixels along each side of its output; ``read_size``: of its input. ``normed``: a normalisation of the
    batch with scale and shift behind it, instead of a bias.
    """

    name: str
    kernel: int
    inputs: int
    outputs: int
    size: int
    read_size: int
    normed: bool = True

    @property
    def parameters(self) -> int:
        """Weights, and scale and shift or the bias."""
        return self.kernel**2 * self.inputs * self.outputs + (2 if self.normed else 1) * self.outputs

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one image's forward pass."""
        return self.kernel**2 * self.inputs * self.outputs * self.size**2


def convolution_parts(file: ConvolutionFile, degrees: Degrees) -> Parts:
    """A block for each layer."""
    layers = layers_of(file.model)
    batch, value = file.training.micro_batch, file.training.value_bytes
    body = tuple(
        block_of(layer.name, _pieces(layer, batch, value, is_first=number == 0)) for number, layer in enumerate(layers)
    )
    return Parts(body, output_bytes=tuple(batch * layer.outputs * layer.size**2 * value for layer in layers))


def convolution_totals(file: ConvolutionFile) -> Totals:
    """The whole model; a sample is an image."""
    layers = layers_of(file.model)
    parameters = sum(layer.parameters for layer in layers)
    return Totals(parameters, parameters, sum(2 * layer.multiply_adds for layer in layers), len(layers), "image")


def layers_of(shape: ConvolutionShape) -> tuple[ImageLayer, ...]:
    """All convolutions and fully connected layers, in the order of the forward pass."""
    if shape.residual is not None:
        return tuple(_residual(shape, shape.residual))
    assert shape.plain is not None
    return tuple(_plain(shape, shape.plain))


def _residual(shape: ConvolutionShape, residual: Residual) -> Iterator[ImageLayer]:
    """Stages are numbered from 2, as in the paper."""
    size = shape.image // 2
    yield ImageLayer("conv1", 7, shape.channels, residual.width, size, shape.image)
    channels, size = residual.width, size // 2  # pooling halves it
    for stage, blocks in enumerate(residual.blocks):
        width = residual.width << stage
        before, size = size, size // 2 if stage else size
        for block in range(1, blocks + 1):
            name = f"conv{stage + 2}_{block}"
            make = _bottleneck if residual.bottleneck else _pair
            outputs = _EXPANSION * width if residual.bottleneck else width
            yield from make(name, channels, width, (before, size), residual)
            if block == 1 and (channels != outputs or before != size):
                yield ImageLayer(f"{name}_shortcut", 1, channels, outputs, size, before)
            channels, before = outputs, size
    yield ImageLayer("fc", 1, channels, shape.classes, 1, 1, normed=False)


def _bottleneck(
    name: str, channels: int, width: int, sizes: tuple[int, int], residual: Residual
) -> Iterator[ImageLayer]:
    before, size = sizes
    middle = size if residual.stride_in_first else before
    yield ImageLayer(f"{name}_1x1a", 1, channels, width, middle, before)
    yield ImageLayer(f"{name}_3x3", 3, width, width, size, middle)
    yield ImageLayer(f"{name}_1x1b", 1, width, _EXPANSION * width, size, size)


def _pair(name: str, channels: int, width: int, sizes: tuple[int, int], residual: Residual) -> Iterator[ImageLayer]:
    before, size = sizes
    yield ImageLayer(f"{name}_3x3a", 3, channels, width, size, before)
    yield ImageLayer(f"{name}_3x3b", 3, width, width, size, size)


def _plain(shape: ConvolutionShape, plain: Plain) -> Iterator[ImageLayer]:
    size, channels = shape.image, shape.channels
    for number, group in enumerate(plain.convolutions, start=1):
        for index, outputs in enumerate(group, start=1):
            yield ImageLayer(f"conv{number}_{index}", 3, channels, outputs, size, size, normed=False)
            channels = outputs
        size //= 2
    inputs = channels * size**2
    for number, outputs in enumerate((*plain.dense, shape.classes), start=1):
        yield ImageLayer(f"fc{number}", 1, inputs, outputs, 1, 1, normed=False)
        inputs = outputs


def _pieces(layer: ImageLayer, batch: int, value: int, *, is_first: bool) -> Iterator[Piece]:
    """The product, and what follows it: normalisation and activation; inputs of all are kept."""
    rows = batch * layer.size**2
    read = batch * layer.inputs * layer.read_size**2
    product = Linear(layer.name, rows, layer.outputs, layer.kernel**2 * layer.inputs, value)
    written = rows * layer.outputs
    moved = (read + written + product.inputs * layer.outputs) * value
    yield Piece(
        (_image(product.forward, moved),),
        () if is_first else (_image(product.input_gradient, moved),),
        (_image(product.weight_gradient, moved),),
        parameters=layer.parameters,
        kept_bytes=read * value,
    )
    passes = 2 if layer.normed else 1
    yield Piece(
        (elementwise(f"{layer.name} activation", 2 * passes * written * value),),
        (elementwise(f"{layer.name} activation gradient", 3 * passes * written * value),),
        kept_bytes=written * value if layer.normed else 0,
    )


def _image(operation: Operation, moved_bytes: int) -> Operation:
    """The product as a convolution: pixels are read once, though several of its rows have them."""
    return replace(operation, kind=OperationKind.CONVOLUTION, bytes=moved_bytes)
