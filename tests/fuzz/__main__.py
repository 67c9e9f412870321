"""``python -m fuzz --cases N --seed S``, from the folder of the tests: play N cases and say how they ended."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from fuzz.fuzzer import Fuzzer


def main() -> int:
    """0: every case ended as it should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--traces", action="store_true", help="only Chakra's traces")
    parser.add_argument("--models", action="store_true", help="only model files")
    parser.add_argument("--scenarios", action="store_true", help="only scenarios")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="astra-ns3-fuzz-"))
    kinds = {"traces": chosen.traces, "models": chosen.models, "scenarios": chosen.scenarios}
    fuzzer, begin = Fuzzer(folder, chosen.seed, **kinds), time.monotonic()
    fuzzer.play(chosen.cases, first=chosen.first)
    for failure in fuzzer.failures:
        _say(f"case {failure.case}: {failure.words}\n    {failure.what}\n")
    ended = ", ".join(f"{count} with status {status}" for status, count in sorted(fuzzer.statuses.items()))
    _say(f"{chosen.cases} cases in {time.monotonic() - begin:.0f} s: {ended}; {len(fuzzer.failures)} wrong")
    if fuzzer.failures:
        _say(f"their files are in {folder}")
    return 1 if fuzzer.failures else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
