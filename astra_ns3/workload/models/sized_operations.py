"""Operations by their sizes: products of matrices and what is bound by memory.

Counted are multiplications and additions of products; what else is computed (normalisations, activations, softmax) has
the bytes that it moves, and no operations, as in published counts.
"""

from __future__ import annotations

from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class Linear:
    """``count`` products of ``rows`` x ``inputs`` by ``inputs`` x ``outputs``, with the two of their backward pass.

    ``values``: rows of all of them together, where these aren't ``count * rows``. ``value_bytes``: of a number.
    """

    name: str
    rows: int
    outputs: int
    inputs: int
    value_bytes: int
    count: int = 1
    values: int | None = None

    @property
    def forward(self) -> Operation:
        """The product."""
        return self._product(self.name, (self.rows, self.outputs, self.inputs))

    @property
    def input_gradient(self) -> Operation:
        """The gradient of what goes in: that of what comes out by the transposed weights."""
        return self._product(f"{self.name} input gradient", (self.rows, self.inputs, self.outputs))

    @property
    def weight_gradient(self) -> Operation:
        """The gradient of the weights: the transposed input by the gradient of the output."""
        return self._product(f"{self.name} weight gradient", (self.inputs, self.outputs, self.rows))

    def _product(self, name: str, shape: tuple[int, int, int]) -> Operation:
        rows = self.count * self.rows if self.values is None else self.values
        moved = rows * (self.inputs + self.outputs) + self.count * self.inputs * self.outputs
        return Operation(
            name,
            OperationKind.MATMUL,
            flops=2 * rows * self.inputs * self.outputs,
            bytes=moved * self.value_bytes,
            shape=shape,
            count=self.count,
        )


def product(name: str, m: int, n: int, k: int, value_bytes: int, count: int = 1) -> Operation:
    """``count`` products of m x k by k x n, of numbers of ``value_bytes``."""
    moved = count * (m * k + k * n + m * n)
    return Operation(name, OperationKind.MATMUL, 2 * count * m * n * k, moved * value_bytes, (m, n, k), count)


def elementwise(name: str, moved_bytes: int) -> Operation:
    """An operation bound by memory: ``moved_bytes`` are read and written."""
    return Operation(name, OperationKind.ELEMENTWISE, bytes=moved_bytes)


def gather(name: str, moved_bytes: int) -> Operation:
    """Rows are looked up, or put elsewhere."""
    return Operation(name, OperationKind.GATHER, bytes=moved_bytes)
