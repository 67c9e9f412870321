"""docs/figures/rooms.svg shows the rooms as they import each other now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_picture_of_the_rooms_is_made_of_todays_imports(repository: Path, tmp_path: Path) -> None:
    made = tmp_path / "rooms.svg"
    program = repository / "docs" / "images" / "draw_rooms.py"
    subprocess.run([sys.executable, str(program), str(made)], check=True)
    kept = repository / "docs" / "figures" / "rooms.svg"
    assert made.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8"), f"draw it anew: python {program}"
