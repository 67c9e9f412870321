"""How well a rule tells measured times of matrix products: figures of docs/compute.md and docs/plan.md.

The times are those of microsoft/vidur (data/profiling/compute/DEVICE/*/*/mlp.csv, commit 7d47513): medians of kernels
of a transformer's four products, tokens x inputs by inputs x outputs, without launches. Rules:

* one share: operations over a share of the peak;
* three tiles, all tiles: the output is cut in tiles, dealt to the multiprocessors in waves, each as long as a whole one
  (NVIDIA, "Matrix Multiplication Background User's Guide", sections 2.3 and 3): the best of its three largest tiles, or
  of all eight that it names;
* all tiles, output: besides, the output goes to memory after its tile.

The share is the one with which as many products are too slow as too fast.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from astra_ns3.config.model.devices import DEVICES

Shape = tuple[int, int, int]
"""m, n and k of m x k by k x n."""
MULTIPROCESSORS = {"a100": ("A100-80GB", 108), "h100": ("H100", 132)}
"""Devices of the folders, and their multiprocessors (NVIDIA, "A100" and "H100 Tensor Core GPU architecture")."""
TILES = ((256, 128), (128, 256), (128, 128), (256, 64), (64, 256), (128, 64), (64, 128), (64, 64))
"""Rows and columns of the output, the most efficient first."""
NUMBER_BYTES, MEMORY_SHARE = 2, 0.8
LEAST_TOKENS = 1024


def measured(files: Iterable[Path]) -> dict[Shape, float]:
    """Return the seconds of each product, the median where several files have it."""
    found = defaultdict(list)
    for path in files:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                for name, shape in shapes_of(row).items():
                    if text := row[f"time_stats.{name}.median"]:
                        found[shape].append(float(text) / 1e3)
    return {shape: statistics.median(times) for shape, times in found.items() if shape[0] >= LEAST_TOKENS}


def shapes_of(row: Mapping[str, str]) -> dict[str, Shape]:
    """Return the shapes of a row's products."""
    names = ("num_tokens", "n_embd", "n_expanded_embd", "n_head", "n_kv_head", "num_tensor_parallel_workers")
    tokens, hidden, inner, heads, key_heads, tensor = (int(row[name]) for name in names)
    head, gates = hidden // heads, 2 if row["use_gated_mlp"] == "True" else 1
    return {
        "attn_pre_proj": (tokens, (heads + 2 * key_heads) * head // tensor, hidden),
        "attn_post_proj": (tokens, hidden, heads * head // tensor),
        "mlp_up_proj": (tokens, gates * inner // tensor, hidden),
        "mlp_down_proj": (tokens, hidden, inner // tensor),
    }


def in_waves(shape: Shape, tiles: Iterable[tuple[int, int]], processors: int) -> int:
    """Return the places of the output that all waves together have, whether they are filled or not."""
    m, n, _ = shape
    counts = ((-(-m // rows) * -(-n // columns), rows * columns) for rows, columns in tiles)
    return min(-(-count // processors) * processors * size for count, size in counts)


def error_of(times: Mapping[Shape, float], rule: Callable[[Shape, float], float]) -> tuple[float, float]:
    """Return the share at which a rule is right in the median, and its mean error then."""
    least, most = 0.1, 2.0
    for _ in range(40):
        share = (least + most) / 2
        too_slow = statistics.median(seconds / rule(shape, share) for shape, seconds in times.items()) < 1
        least, most = (share, most) if too_slow else (least, share)
    return share, statistics.mean(abs(seconds / rule(shape, share) - 1) for shape, seconds in times.items())


def rules_of(device: str) -> dict[str, Callable[[Shape, float], float]]:
    """Return the rules, from a shape and the share of the peak to seconds."""
    name, processors = MULTIPROCESSORS[device]
    peak = DEVICES[name].peak_for("float16")
    rate = MEMORY_SHARE * DEVICES[name].memory_bandwidth

    def filled(shape: Shape, share: float) -> float:
        m, n, k = shape
        return max(2 * m * n * k / peak / share, NUMBER_BYTES * (m * k + k * n + m * n) / rate)

    def waves(tiles: tuple[tuple[int, int], ...], outputs: int) -> Callable[[Shape, float], float]:
        def seconds(shape: Shape, share: float) -> float:
            m, n, k = shape
            return 2 * k * in_waves(shape, tiles, processors) / peak / share + outputs * NUMBER_BYTES * m * n / rate

        return seconds

    return {
        "one share": filled,
        "three tiles": waves(TILES[:3], 0),
        "all tiles": waves(TILES, 0),
        "all tiles, output": waves(TILES, 1),
    }


def main() -> None:
    """Print each rule's share and error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", choices=MULTIPROCESSORS)
    parser.add_argument("files", nargs="+", type=Path, help="mlp.csv of models on it")
    arguments = parser.parse_args()
    times = measured(arguments.files)
    print(f"{len(times):,} products of at least {LEAST_TOKENS:,} tokens")
    for name, rule in rules_of(arguments.device).items():
        share, error = error_of(times, rule)
        print(f"{name}: {share:.3f} of the peak, {100 * error:.1f}% off in the mean")


if __name__ == "__main__":
    main()
