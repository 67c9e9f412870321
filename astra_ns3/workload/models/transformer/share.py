"""The share of a transformer's sizes that one NPU has."""

from __future__ import annotations

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.model.transformer import TransformerFile, TransformerShape
from astra_ns3.config.training_plan import Degrees, Exchange, Group
from astra_ns3.frozen import dataclass, replace
from astra_ns3.workload.models.piece import Piece


@dataclass(frozen=True)
class Share:
    """Sizes on one NPU, for one micro-batch."""

    file: TransformerFile
    degrees: Degrees

    @property
    def shape(self) -> TransformerShape:
        """The whole model's sizes."""
        return self.file.model

    @property
    def value_bytes(self) -> int:
        """Bytes of a weight or activation."""
        return self.file.training.value_bytes

    @property
    def batch(self) -> int:
        """Sequences."""
        return self.file.training.micro_batch

    @property
    def sequence(self) -> int:
        """Tokens of each that this NPU has; the others of its context group have the rest."""
        return self.file.training.sequence // self.degrees.context

    @property
    def tokens(self) -> int:
        """Tokens that go through its share of split products."""
        return self.batch * self.sequence

    @property
    def splits_sequence(self) -> bool:
        """Whether the tensor group splits tokens where it doesn't split products."""
        return self.file.parallel.sequence and self.degrees.tensor > 1

    def summed(self, parameters: int) -> int:
        """Number of ``parameters``, used for an NPU's own tokens, whose gradients the tensor group adds up."""
        return parameters if self.splits_sequence else 0

    @property
    def own_tokens(self) -> int:
        """Tokens that it has outside of split products."""
        return self.tokens // self.degrees.tensor if self.splits_sequence else self.tokens

    @property
    def own_bytes(self) -> int:
        """Bytes of its activations between layers."""
        return self.own_tokens * self.shape.hidden * self.value_bytes

    @property
    def gathers_again(self) -> bool:
        """Whether an NPU keeps its own tokens of inputs of split products, and gathers the others' for the gradient of
        the weights; else it keeps all of the inputs.
        """
        return self.splits_sequence and self.file.parallel.gather_inputs_again

    def input_bytes(self, width: int) -> int:
        """Kept of the input of a split product, ``width`` numbers a token."""
        return (self.own_tokens if self.gathers_again else self.tokens) * width * self.value_bytes

    @property
    def whole_bytes(self) -> int:
        """Bytes of the activations of all tokens of the tensor group."""
        return self.tokens * self.shape.hidden * self.value_bytes

    @property
    def heads(self) -> int:
        """Heads of queries."""
        return self.shape.heads // self.degrees.tensor

    @property
    def key_value_heads(self) -> int:
        """Heads of keys and values; where there are fewer than NPUs of the tensor group, some have the same one."""
        return max(1, self.shape.key_value_heads // self.degrees.tensor)

    @property
    def vocabulary(self) -> int:
        """Rows of the embedding, rounded up."""
        return -(-self.shape.vocabulary // self.degrees.tensor)

    def split(self, count: int) -> int:
        """An NPU's part of something that the tensor group splits."""
        return count // self.degrees.tensor

    def exchange(self, kind: CollectiveKind, group: Group, size_bytes: int) -> tuple[Exchange, ...]:
        """A collective in a group; nothing in a group of one."""
        return (Exchange(kind, group, size_bytes),) if self.degrees.size(group) > 1 else ()

    def enter(self) -> Piece:
        """Before a product with split weights: see :meth:`enter_of`."""
        return self.enter_of(self.shape.hidden)

    def enter_of(self, width: int) -> Piece:
        """All tokens of ``width`` numbers are brought together; back, gradients of parts are summed."""
        own, whole = (tokens * width * self.value_bytes for tokens in (self.own_tokens, self.tokens))
        if self.splits_sequence:
            gathered = self.exchange(CollectiveKind.ALL_GATHER, Group.TENSOR, own)
            summed = self.exchange(CollectiveKind.REDUCE_SCATTER, Group.TENSOR, whole)
            again = tuple(replace(each, waited=False) for each in gathered)
            return Piece(gathered, (*again, *summed) if self.gathers_again else summed)
        return Piece(input_gradient=self.exchange(CollectiveKind.ALL_REDUCE, Group.TENSOR, whole))

    def leave(self) -> Piece:
        """After a product whose inputs are split: sums of parts; back, gradients are brought together."""
        if self.splits_sequence:
            return Piece(
                self.exchange(CollectiveKind.REDUCE_SCATTER, Group.TENSOR, self.whole_bytes),
                self.exchange(CollectiveKind.ALL_GATHER, Group.TENSOR, self.own_bytes),
            )
        return Piece(self.exchange(CollectiveKind.ALL_REDUCE, Group.TENSOR, self.whole_bytes))
