"""A DLRM training loop from the dimensions of its layers.

Sizes follow the sample of ASTRA-sim, ``DLRM_HybridParallel.txt``: a layer's gradient has ``inputs * outputs`` elements,
the all-to-all carries one vector per sample and table. The interaction of dense and sparse features is their
concatenation, and the update takes a nanosecond per 1000 bytes of each collective. Model limits, all choices of ours:
a matrix product runs at the full compute rate, ``2 * batch * inputs * outputs`` operations in each of its three
passes. The embedding is bound by memory; the tables lie evenly on the NPUs. ``inputs/workload/README.md`` has the
numbers of the case study.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.frozen import dataclass
from astra_ns3.workload.files.astra_sim import format_workload
from astra_ns3.workload.generators.rates import rounded_up, update_ns


@dataclass(frozen=True)
class DlrmModel:
    """Dimensions of a DLRM and of the NPU that trains it; the defaults are the HotI 2020 case study.

    A MLP has one layer into its width, ``hidden`` layers of that width, and one layer out of it: "10+2" is 10 hidden.
    """

    batch: int = 512
    """Samples per NPU and iteration."""
    dense_features: int = 1600
    bottom_width: int = 1024
    bottom_hidden: int = 5
    top_width: int = 2048
    top_hidden: int = 10
    tables: int = 64
    embedding_dimension: int = 64
    pooling: int = 60
    """Rows summed per sample and table."""
    element_bytes: int = 2
    operations_per_ns: int = 60_000
    """60 TFLOPS."""
    memory_bytes_per_ns: int = 900
    """HBM2 of a V100, 900 GB/s (its data sheet); the case study names the GPU, not this number."""

    @property
    def bottom_shapes(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of the bottom MLP: from the dense features to a vector like an embedding."""
        hidden = ((self.bottom_width, self.bottom_width),) * self.bottom_hidden
        return ((self.dense_features, self.bottom_width), *hidden, (self.bottom_width, self.embedding_dimension))

    @property
    def top_shapes(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of the top MLP: from all vectors side by side to one probability."""
        concatenated = (self.tables + 1) * self.embedding_dimension
        hidden = ((self.top_width, self.top_width),) * self.top_hidden
        return ((concatenated, self.top_width), *hidden, (self.top_width, 1))

    @property
    def pooled_bytes(self) -> int:
        """Embedding vectors of one NPU's batch, one per sample and table: what an all-to-all carries."""
        return self.batch * self.tables * self.embedding_dimension * self.element_bytes


def dlrm_workload(model: DlrmModel, source: str = "dlrm") -> Workload:
    """The HYBRID_DLRM loop of ``model``: layer 0 the embedding, then the bottom and the top MLP."""
    bottom = [_dense(model, f"MLP_Bottom_{index}", *shape) for index, shape in enumerate(model.bottom_shapes)]
    top = [_dense(model, f"MLP_Top_{index}", *shape) for index, shape in enumerate(model.top_shapes)]
    return Workload("HYBRID_DLRM", (_embedding(model), *bottom, *top), len(bottom), source)


def _dense(model: DlrmModel, name: str, inputs: int, outputs: int) -> Layer:
    """A fully connected layer, data parallel; each pass is one matrix product of the same size."""
    product_ns = rounded_up(2 * model.batch * inputs * outputs, model.operations_per_ns)
    gradient_bytes = inputs * outputs * model.element_bytes
    return Layer(
        name,
        forward=Pass(product_ns),
        input_gradient=Pass(product_ns),
        weight_gradient=Pass(product_ns, CollectiveKind.ALL_REDUCE, gradient_bytes),
        update_ns=update_ns(gradient_bytes),
    )


def _embedding(model: DlrmModel) -> Layer:
    """All tables, model parallel.

    Forward reads the rows of each sum and writes the sum; backward reads the gradient of each sum, then reads and
    writes its rows. The loop runs that in the weight-gradient pass; layer 0 has no input gradient to compute.
    """
    pooled = model.pooled_bytes
    return Layer(
        "Embedding",
        forward=Pass(
            rounded_up((model.pooling + 1) * pooled, model.memory_bytes_per_ns), CollectiveKind.ALL_TO_ALL, pooled
        ),
        input_gradient=Pass(0, CollectiveKind.ALL_TO_ALL, pooled),
        weight_gradient=Pass(rounded_up((1 + 2 * model.pooling) * pooled, model.memory_bytes_per_ns)),
        update_ns=update_ns(pooled),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the case study's workload: ``python -m astra_ns3.workload.generators.dlrm FILE``."""
    parser = argparse.ArgumentParser(description="Write the workload of the HotI 2020 DLRM case study.")
    parser.add_argument("file", type=Path, help="where to write, e.g. inputs/workload/dlrm-128.txt")
    parser.parse_args(arguments).file.write_text(
        format_workload(dlrm_workload(DlrmModel())), encoding="utf-8", newline="\n"
    )


if __name__ == "__main__":
    main()
