"""A run with a timeline plays each NPU by itself, and ends when it does without."""

from __future__ import annotations

from pathlib import Path

import astra_ns3

INPUTS = Path(__file__).parents[2] / "inputs"
MODEL = """
kind: transformer
name: experts
model:
  {layers: 2, hidden: 4096, heads: 32, kv_heads: 8, gated: true, positions: rotary, norm: rms, biases: false,
   vocabulary: 32000, fused_attention: true,
   experts: {routing: uniform, count: 8, active: 2, feed_forward: 14336, dispatch: {overhead: 0ps}}}
training: {micro_batch: 2, global_batch: 32, sequence: 4096, datatype: bfloat16, optimizer: adam}
parallel: {expert: 8, zero: 3}
compute: {device: H100}
"""


def test_slowed_computations_that_end_at_one_moment_keep_their_order(tmp_path: Path) -> None:
    """NPUs of experts are hardly ever in step; collectives slow their computations."""
    (tmp_path / "model.yaml").write_text(MODEL)

    def finish_ps(*record: str) -> int:
        run = astra_ns3.run(
            workload=tmp_path / "model.yaml",
            system=INPUTS / "system" / "nccl.yaml",
            network=INPUTS / "network" / "roce-dgx-h100.yaml",
            backend="flow",
            record=record,
            output=tmp_path / f"run{len(record)}",
        )
        return run.finish_ps

    assert finish_ps() == finish_ps("timeline")
