"""MSCCL programs for tests, written out as their XML."""

from __future__ import annotations

from dataclasses import dataclass, field

Place = tuple[str, int]


@dataclass
class Block:
    """A thread block under construction."""

    send: int = -1
    receive: int = -1
    channel: int = 0
    steps: list[str] = field(default_factory=list)

    def add(
        self,
        kind: str,
        source: Place = ("i", 0),
        destination: Place = ("i", 0),
        count: int = 1,
        depends: Place = ("", -1),
    ) -> Block:
        """One more step; ``depends`` is (thread block number as text, step)."""
        self.steps.append(
            f'<step s="{len(self.steps)}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1]}" '
            f'dstbuf="{destination[0]}" dstoff="{destination[1]}" cnt="{count}" depid="{depends[0] or -1}" '
            f'deps="{depends[1]}" hasdep="0"/>'
        )
        return self


def xml(collective: str, chunks: tuple[int, int, int], gpus: list[list[Block]], *, in_place: bool = True) -> str:
    """``chunks``: of the input, output and scratch buffer; one line for each element."""
    lines = [
        f'<algo name="test" proto="Simple" nchannels="1" nchunksperloop="{max(chunks)}" ngpus="{len(gpus)}" '
        f'coll="{collective}" inplace="{int(in_place)}">'
    ]
    for rank, blocks in enumerate(gpus):
        lines.append(f'<gpu id="{rank}" i_chunks="{chunks[0]}" o_chunks="{chunks[1]}" s_chunks="{chunks[2]}">')
        for number, block in enumerate(blocks):
            lines.append(f'<tb id="{number}" send="{block.send}" recv="{block.receive}" chan="{block.channel}">')
            lines += [*block.steps, "</tb>"]
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>", ""])


def ring_all_reduce(ranks: int, instances: int = 1) -> str:
    """In place; chunk c goes round from rank c, and round again with the sum. An instance has a channel of its own."""
    gpus = []
    for rank in range(ranks):
        blocks = []
        for instance in range(instances):
            block = Block(send=(rank + 1) % ranks, receive=(rank - 1) % ranks, channel=instance)
            for step in range(2 * ranks - 1):
                chunk = ("i", (rank - step) % ranks * instances + instance)
                kind = "s" if step == 0 else "rrcs" if step < ranks else "rcs" if step < 2 * ranks - 2 else "r"
                block.add(kind, chunk, chunk if step else ("i", 0))
            blocks.append(block)
        gpus.append(blocks)
    return xml("allreduce", (ranks * instances, 0, 0), gpus)


def one_shot_all_reduce(ranks: int) -> str:
    """Every rank sends all its data into the others' scratch buffers, and adds up what it gets."""
    gpus = []
    for rank in range(ranks):
        others = [other for other in range(ranks) if other != rank]
        blocks = [
            Block(send=other, receive=other).add("s", ("i", 0), ("s", rank)).add("r", ("i", 0), ("s", other))
            for other in others
        ]
        for number in range(1, len(blocks)):
            blocks[0].add("nop", depends=(str(number), 1))
        for other in others:
            blocks[0].add("re", ("s", other), ("i", 0))
        gpus.append(blocks)
    return xml("allreduce", (1, 0, ranks), gpus)


def pairwise_all_to_all(ranks: int, chunks: int = 1) -> str:
    """Out of place, one thread block for each other rank and one that copies."""
    gpus = []
    for rank in range(ranks):
        blocks = [Block().add("cpy", ("i", rank * chunks), ("o", rank * chunks), chunks)]
        for other in (rank for rank in range(ranks)):
            if other != rank:
                block = Block(send=other, receive=other)
                block.add("s", ("i", other * chunks), ("o", rank * chunks), chunks)
                blocks.append(block.add("r", ("i", 0), ("o", other * chunks), chunks))
        gpus.append(blocks)
    return xml("alltoall", (ranks * chunks, ranks * chunks, 0), gpus, in_place=False)


def hierarchical_all_to_all(nodes: int, gpus: int = 8) -> str:
    """Out of place: what goes to GPU g of any other node is gathered at GPU g of one's own, and goes on as one."""
    ranks = []
    for node, own in ((node, own) for node in range(nodes) for own in range(gpus)):
        copies = Block()
        for there in range(nodes):
            copies.add("cpy", ("i", there * gpus + own), ("o" if there == node else "s", there * gpus + own))
        blocks = [copies]
        for peer in (peer for peer in range(gpus) if peer != own):
            block = Block(send=node * gpus + peer, receive=node * gpus + peer)
            for there in range(nodes):
                block.add("s", ("i", there * gpus + peer))
            for there in range(nodes):
                block.add("r", ("i", 0), ("o" if there == node else "s", there * gpus + peer))
            blocks.append(block)
        for there in (there for there in range(nodes) if there != node):
            block = Block(send=there * gpus + own, receive=there * gpus + own)
            for number, local in enumerate(blocks[:gpus]):
                block.add("nop", depends=(str(number), len(local.steps) - 1))
            block.add("s", ("s", there * gpus), count=gpus).add("r", ("i", 0), ("o", there * gpus), count=gpus)
            blocks.append(block)
        ranks.append(blocks)
    return xml("alltoall", (nodes * gpus, nodes * gpus, nodes * gpus), ranks, in_place=False)


def ring_all_gather(ranks: int, chunks: int = 1) -> str:
    """In place, as RCCL's files: no input buffer of its own."""
    gpus = []
    for rank in range(ranks):
        block = Block(send=(rank + 1) % ranks, receive=(rank - 1) % ranks)
        block.add("s", ("o", rank * chunks), ("o", rank * chunks), chunks)
        for step in range(1, ranks):
            where = ("o", (rank - step) % ranks * chunks)
            block.add("rcs" if step < ranks - 1 else "r", where, where, chunks)
        gpus.append([block])
    return xml("allgather", (0, ranks * chunks, 0), gpus)


def ring_reduce_scatter(ranks: int) -> str:
    """Out of place; partial sums pass through without being stored."""
    gpus = []
    for rank in range(ranks):
        block = Block(send=(rank + 1) % ranks, receive=(rank - 1) % ranks).add("s", ("i", (rank - 1) % ranks))
        for step in range(2, ranks + 1):
            chunk = (rank - step) % ranks
            block.add("rrs" if step < ranks else "rrc", ("i", chunk), ("o", 0))
        gpus.append([block])
    return xml("reduce_scatter", (ranks, 1, 0), gpus, in_place=False)


def star_broadcast(ranks: int) -> str:
    """Rank 0 to each other one, out of place."""
    root = [Block(send=other).add("s", ("i", 0), ("o", 0), 2) for other in range(1, ranks)]
    root.append(Block().add("cpy", ("i", 0), ("o", 0), 2))
    others = [[Block(receive=0).add("r", ("i", 0), ("o", 0), 2)] for _ in range(1, ranks)]
    return xml("broadcast", (2, 2, 0), [root, *others], in_place=False)
